"""Reads passages of every collection: chunks by id and by position, and any passage's row as a Chunk."""

import re
from collections.abc import Sequence
from uuid import UUID, uuid5

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACT_CHUNKS

ITEM_NAMESPACE = UUID("6d1c3e5a-5b8e-4b54-9a0f-3a1d3c0f7e21")
"""Namespace of the document ids made for items, which have no document."""

CHUNK_ID = re.compile(r"[0-9]{1,18}")
"""Chunk ids are text in the domain; a custom source may return any text, which then identifies no chunk."""

COLUMNS = f"{ARTIFACT_CHUNKS.key}, {ARTIFACT_CHUNKS.passage}"
"""The select list over ``chunks c`` and ``documents d`` that ``chunk`` reads."""

CHUNKS_BY_ID = f"""
    SELECT {COLUMNS}
    FROM unnest(%(ids)s::bigint[]) AS wanted (id)
    JOIN chunks c ON c.id = wanted.id
    JOIN documents d ON d.id = c.document_id
    WHERE {{condition}}
"""

CHUNK_IDS_BY_POSITION = """
    SELECT c.document_id, c.chunk_index, c.id
    FROM unnest(%(document_ids)s::uuid[], %(indexes)s::bigint[]) AS wanted (document_id, chunk_index)
    JOIN chunks c USING (document_id, chunk_index)
    WHERE {condition}
"""


def database_ids(chunk_ids: Sequence[str]) -> list[int]:
    return [int(chunk_id) for chunk_id in chunk_ids if CHUNK_ID.fullmatch(chunk_id)]


def chunk(row: TupleRow) -> Chunk:
    """Return the chunk of a row of ``COLUMNS``."""
    return passage(str(row[0]), CHUNK_COLLECTION, row[1:])


def passage(item_id: str, collection: str, row: TupleRow) -> Chunk:
    """Return the passage of a row of ``PASSAGE_COLUMNS``. Unpacked by name: half the time of a dict of its fields."""
    (
        document_id, external_id, chunk_index, content, heading_path, title, language, path, metadata,
        line_start, line_end, page_start, page_end, recognition_confidence, artifact_type, sensitivity,
        visibility_scope, owner, occurred_at, session, speaker, entities,
    ) = row  # fmt: skip
    return Chunk(
        id=item_id,
        collection=collection,
        document_id=document_id or uuid5(ITEM_NAMESPACE, f"{collection}/{item_id}"),
        external_id=external_id,
        chunk_index=chunk_index,
        content=content,
        heading_path=tuple(heading_path),
        title=title,
        language=language,
        path=path,
        metadata=metadata,
        line_start=line_start,
        line_end=line_end or content.count("\n") + 1,
        page_start=page_start,
        page_end=page_end,
        recognition_confidence=None if recognition_confidence is None else round(recognition_confidence, 3),
        artifact_type=artifact_type,
        sensitivity=Sensitivity(sensitivity),
        visibility_scope=VisibilityScope(visibility_scope),
        owner=owner,
        occurred_at=occurred_at,
        session=session,
        speaker=speaker,
        entities=tuple(entities or ()),
    )
