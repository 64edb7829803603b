"""Reads passages of every collection: chunks by id and by position, and any passage's row as a Chunk."""

import re
from collections.abc import Sequence
from uuid import UUID, uuid5

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACT_CHUNKS, PASSAGE_COLUMNS

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
    """Return the passage of a row of ``PASSAGE_COLUMNS``."""
    fields = dict(zip(PASSAGE_COLUMNS, row, strict=True))
    return Chunk(
        id=item_id,
        collection=collection,
        **fields
        | {
            "document_id": fields["document_id"] or uuid5(ITEM_NAMESPACE, f"{collection}/{item_id}"),
            "heading_path": tuple(fields["heading_path"]),
            "line_end": fields["line_end"] or fields["content"].count("\n") + 1,
            "sensitivity": Sensitivity(fields["sensitivity"]),
            "visibility_scope": VisibilityScope(fields["visibility_scope"]),
            "entities": tuple(fields["entities"]),
        },
    )
