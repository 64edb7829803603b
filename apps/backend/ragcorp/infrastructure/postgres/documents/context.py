"""The port DocumentContext over the chunks of documents."""

from collections.abc import Sequence
from uuid import UUID

from ragcorp.infrastructure.postgres.connections.database import Database

OPENING_CHUNKS = 2
OPENING_CHARACTERS = 1500
SEARCHED_CHUNKS = 400
"""Chunks searched in a document, from its beginning."""

OPENINGS = f"""
    SELECT c.document_id, left(string_agg(c.content, E'\\n' ORDER BY c.chunk_index), {OPENING_CHARACTERS})
    FROM chunks c
    WHERE c.workspace = %(workspace)s AND c.document_id = ANY (%(documents)s) AND c.chunk_index < {OPENING_CHUNKS}
    GROUP BY c.document_id
"""

HOLDINGS = f"""
    SELECT given.document_id, array_agg(wanted.lexeme)
    FROM unnest(%(documents)s::uuid[]) AS given (document_id)
    CROSS JOIN unnest(%(lexemes)s::text[]) AS wanted (lexeme)
    WHERE EXISTS (
        SELECT 1 FROM chunks c
        WHERE c.workspace = %(workspace)s AND c.document_id = given.document_id AND c.chunk_index < {SEARCHED_CHUNKS}
          AND c.lexemes @@ array_to_tsvector(ARRAY[wanted.lexeme])::text::tsquery)
    GROUP BY given.document_id
"""


class PostgresDocumentContext:
    """Reads the first chunks of documents, and whether any chunk contains a lexeme."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def openings(self, document_ids: Sequence[UUID], *, workspace: str) -> dict[UUID, str]:
        rows = await self._database.fetch(
            OPENINGS, {"documents": list(document_ids), "workspace": workspace}, workspace=workspace
        )
        return dict(rows)

    async def holdings(
        self, lexemes: Sequence[str], document_ids: Sequence[UUID], *, workspace: str
    ) -> dict[UUID, frozenset[str]]:
        values = {"documents": list(document_ids), "lexemes": list(lexemes), "workspace": workspace}
        return {
            document: frozenset(document_lexemes)
            for document, document_lexemes in await self._database.fetch(HOLDINGS, values, workspace=workspace)
        }
