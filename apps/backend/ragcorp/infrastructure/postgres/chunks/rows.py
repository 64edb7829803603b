"""How passages of every collection are read: chunks by id and by position, and any passage's row as a Chunk."""

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
    fields = dict(zip(PASSAGE_COLUMNS, row, strict=True))
    content: str = fields["content"]
    return Chunk(
        id=item_id,
        document_id=fields["document_id"] or uuid5(ITEM_NAMESPACE, f"{collection}/{item_id}"),
        external_id=fields["external_id"],
        chunk_index=fields["chunk_index"],
        content=content,
        heading_path=tuple(fields["heading_path"]),
        title=fields["title"],
        language=fields["language"],
        path=fields["path"],
        metadata=fields["metadata"],
        line_start=fields["line_start"],
        line_end=fields["line_end"] or content.count("\n") + 1,
        page_start=fields["page_start"],
        page_end=fields["page_end"],
        collection=collection,
        artifact_type=fields["artifact_type"],
        sensitivity=Sensitivity(fields["sensitivity"]),
        visibility_scope=VisibilityScope(fields["visibility_scope"]),
        owner=fields["owner"],
        occurred_at=fields["occurred_at"],
        session=fields["session"],
        speaker=fields["speaker"],
        entities=tuple(fields["entities"]),
    )
