"""The tables of items: where each collection's stand, what of an item is embedded, and how its row reads."""

from __future__ import annotations

import hashlib
from typing import Any

from ragcorp.domain.collections import Collection, Item
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.infrastructure.postgres.tables import embedded as tables
from ragcorp.infrastructure.postgres.tables.embedded import EmbeddedTable
from ragcorp.infrastructure.postgres.visibility.predicates import HISTORY, MEMORY, FilterTable

TABLES: dict[Collection, tuple[EmbeddedTable, FilterTable]] = {
    Collection.MEMORY: (tables.MEMORY, MEMORY),
    Collection.HISTORY: (tables.HISTORY, HISTORY),
}


def content_hash(*, speaker: str | None, text: str) -> bytes:
    """Return the SHA-256 of the text that is embedded (``SPOKEN_TEXT``)."""
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
