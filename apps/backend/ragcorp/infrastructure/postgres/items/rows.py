"""The tables of items: where each collection's stand, what of an item is embedded, and how its row reads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from ragcorp.domain.collections import Collection, Item
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.infrastructure.postgres.visibility.predicates import HISTORY, MEMORY, FilterTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTables:
    """Tables of one kind of item. ``index_text`` is SQL over its rows (i): the text whose SHA-256 ``content_hash`` is.

    ``items`` has the columns id, workspace, external_id and content_hash.
    """

    items: str
    embeddings: str
    backlog: str
    index_text: str


SPOKEN_TEXT = "concat_ws(': ', i.speaker, i.text)"

MEMORY_TABLES = ItemTables(
    items="memory_items", embeddings="memory_embeddings", backlog="memory_backlog", index_text=SPOKEN_TEXT
)
HISTORY_TABLES = ItemTables(
    items="history_turns", embeddings="history_embeddings", backlog="history_backlog", index_text=SPOKEN_TEXT
)
ENTITY_TABLES = ItemTables(
    items="entities",
    embeddings="entity_embeddings",
    backlog="entity_backlog",
    index_text="concat_ws('. ', i.name, nullif(i.description, ''))",
)

WITH_VECTORS = (MEMORY_TABLES, HISTORY_TABLES, ENTITY_TABLES)
"""Every kind of item that waits for vectors."""

TABLES: dict[Collection, tuple[ItemTables, FilterTable]] = {
    Collection.MEMORY: (MEMORY_TABLES, MEMORY),
    Collection.HISTORY: (HISTORY_TABLES, HISTORY),
}


def content_hash(*, speaker: str | None, text: str) -> bytes:
    """Return the SHA-256 of ``SPOKEN_TEXT``."""
    return hashlib.sha256((text if speaker is None else f"{speaker}: {text}").encode()).digest()


COLUMNS = """
    i.id, i.external_id, i.text, i.language, i.artifact_type, i.sensitivity, i.visibility_scope, i.owner,
    i.occurred_at, i.session, i.speaker, i.entities, i.metadata, i.created_at, i.updated_at,
    EXISTS (SELECT FROM {backlog} b WHERE b.item_id = i.id)
"""


def item(row: tuple[Any, ...], *, collection: Collection) -> Item:
    """Return the item of a row of ``COLUMNS``."""
    (
        item_id,
        external_id,
        text,
        language,
        artifact_type,
        sensitivity,
        visibility_scope,
        owner,
        occurred_at,
        session,
        speaker,
        entities,
        metadata,
        created_at,
        updated_at,
        pending,
    ) = row
    return Item(
        id=str(item_id),
        collection=collection,
        external_id=external_id,
        text=text,
        attributes=DocumentAttributes(
            language=language,
            artifact_type=artifact_type,
            sensitivity=Sensitivity(sensitivity),
            visibility_scope=VisibilityScope(visibility_scope),
            owner=owner,
            occurred_at=occurred_at,
            metadata=metadata,
        ),
        session=session,
        speaker=speaker,
        entities=tuple(entities),
        pending=pending,
        created_at=created_at,
        updated_at=updated_at,
    )
