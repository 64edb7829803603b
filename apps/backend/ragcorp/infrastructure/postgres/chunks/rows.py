"""How passages of every collection are read: chunks by id and by position, and any passage's row as a Chunk."""

from __future__ import annotations

from uuid import UUID, uuid5

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACT_CHUNKS, PASSAGE_COLUMNS

ITEM_NAMESPACE = UUID("6d1c3e5a-5b8e-4b54-9a0f-3a1d3c0f7e21")
"""Namespace of the document ids made for items, which have no document."""

COLUMNS = f"{ARTIFACT_CHUNKS.key}, {ARTIFACT_CHUNKS.passage}"
"""The select list over ``chunks c`` and ``documents d`` that ``chunk`` reads."""

CHUNKS_BY_ID = f"""
    SELECT {COLUMNS}
    FROM unnest(%(ids)s::bigint[]) AS wanted (id)
    JOIN chunks c ON c.id = wanted.id
    JOIN documents d ON d.id = c.document_id
    WHERE {{visible}}
"""

CHUNK_IDS_BY_POSITION = """
    SELECT c.document_id, c.chunk_index, c.id
    FROM unnest(%(document_ids)s::uuid[], %(indexes)s::bigint[]) AS wanted (document_id, chunk_index)
    JOIN chunks c USING (document_id, chunk_index)
    WHERE {visible}
"""


def chunk(row: TupleRow) -> Chunk:
    """Return the chunk of a row of ``COLUMNS``."""
    return passage(str(row[0]), CHUNK_COLLECTION, row[1:])


def passage(item_id: str, collection: str, row: TupleRow) -> Chunk:
    """Return the passage of a row of ``PASSAGE_COLUMNS``."""
    found = dict(zip(PASSAGE_COLUMNS, row, strict=True))
    content: str = found["content"]
    return Chunk(
        id=item_id,
        document_id=found["document_id"] or uuid5(ITEM_NAMESPACE, f"{collection}/{item_id}"),
        external_id=found["external_id"],
        chunk_index=found["chunk_index"],
        content=content,
        heading_path=tuple(found["heading_path"]),
        title=found["title"],
        language=found["language"],
        path=found["path"],
        metadata=found["metadata"],
        line_start=found["line_start"],
        line_end=found["line_end"] or content.count("\n") + 1,
        page_start=found["page_start"],
        page_end=found["page_end"],
        collection=collection,
        artifact_type=found["artifact_type"],
        sensitivity=Sensitivity(found["sensitivity"]),
        visibility_scope=VisibilityScope(found["visibility_scope"]),
        owner=found["owner"],
        occurred_at=found["occurred_at"],
        session=found["session"],
        speaker=found["speaker"],
        entities=tuple(found["entities"]),
    )
