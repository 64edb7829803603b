"""A row of ``chunks`` with its document, as a Chunk."""

from __future__ import annotations

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.principal import Sensitivity

COLUMNS = """
    c.id, c.document_id, d.external_id, c.chunk_index, c.content, c.heading_path, c.title, c.language,
    d.path, d.metadata, c.line_start, c.line_end, c.page_start, c.page_end, c.artifact_type, c.sensitivity,
    c.visibility_scope, c.owner, c.occurred_at"""
"""The select list over ``chunks c`` and ``documents d`` that ``chunk`` reads."""


def chunk(row: TupleRow) -> Chunk:
    (
        chunk_id, document_id, external_id, chunk_index, content, heading_path, title, language,
        path, metadata, line_start, line_end, page_start, page_end, artifact_type, sensitivity,
        visibility_scope, owner, occurred_at,
    ) = row  # fmt: skip
    return Chunk(
        id=str(chunk_id),
        document_id=document_id,
        external_id=external_id,
        chunk_index=chunk_index,
        content=content,
        heading_path=tuple(heading_path),
        title=title,
        language=language,
        path=path,
        metadata=metadata,
        line_start=line_start,
        line_end=line_end,
        page_start=page_start,
        page_end=page_end,
        artifact_type=artifact_type,
        sensitivity=Sensitivity(sensitivity),
        visibility_scope=VisibilityScope(visibility_scope),
        owner=owner,
        occurred_at=occurred_at,
    )


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
