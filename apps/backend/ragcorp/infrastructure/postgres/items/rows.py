"""The tables of each collection of items, and how an item's row is read."""

import hashlib
from collections.abc import Sequence
from typing import Any

from ragcorp.domain.collections import Collection, Item
from ragcorp.infrastructure.postgres.tables import embedded as tables
from ragcorp.infrastructure.postgres.tables.attributes import attribute_columns, read_attributes
from ragcorp.infrastructure.postgres.tables.embedded import EmbeddedTable
from ragcorp.infrastructure.postgres.visibility.predicates import HISTORY, MEMORY, FilterTable

TABLES: dict[Collection, tuple[EmbeddedTable, FilterTable]] = {
    Collection.MEMORY: (tables.MEMORY, MEMORY),
    Collection.HISTORY: (tables.HISTORY, HISTORY),
}


def content_hash(*, speaker: str | None, text: str) -> bytes:
    """Return the SHA-256 of the text that is embedded (``SPOKEN_TEXT``)."""
    return hashlib.sha256((text if speaker is None else f"{speaker}: {text}").encode()).digest()


COLUMNS = f"""
    i.id, i.external_id, i.text, i.session, i.speaker, i.entities, i.created_at, i.updated_at,
    EXISTS (SELECT FROM {{backlog}} b WHERE b.item_id = i.id), {attribute_columns("i")}
"""


def item(row: Sequence[Any], *, collection: Collection) -> Item:
    """Return the item of a row of ``COLUMNS``."""
    item_id, external_id, text, session, speaker, entities, created_at, updated_at, pending, *attributes = row
    return Item(
        id=str(item_id),
        collection=collection,
        external_id=external_id,
        text=text,
        attributes=read_attributes(attributes),
        session=session,
        speaker=speaker,
        entities=tuple(entities),
        pending=pending,
        created_at=created_at,
        updated_at=updated_at,
    )
