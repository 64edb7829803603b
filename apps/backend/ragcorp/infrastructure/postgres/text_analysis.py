"""The port TextAnalyzer over PostgreSQL's own text search, so that answers see words as the index does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.database import Database

CONFIGURATIONS = {"es": "spanish", "en": "english", "pt": "portuguese", "fr": "french", "it": "italian", "de": "german"}
"""Text search configurations by language (ISO 639-1); any other language is split into words, without stems."""

FREQUENCY_CAP = 1000
"""Documents are counted up to here: beyond, a lexeme is common whatever the exact count."""

LEXEMES = """
    SELECT tsvector_to_array(to_tsvector(%(configuration)s::regconfig, passage))
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS given (passage, position)
    ORDER BY position
"""

FREQUENCIES = f"""
    SELECT given.lexeme, (
        SELECT count(*) FROM (
            SELECT 1 FROM chunks c
            WHERE c.workspace = %(workspace)s AND c.tsv @@ array_to_tsvector(ARRAY[given.lexeme])::text::tsquery
            LIMIT {FREQUENCY_CAP}) AS holding)
    FROM unnest(%(lexemes)s::text[]) AS given (lexeme)
"""

COUNT_CHUNKS = "SELECT count(*) FROM chunks WHERE workspace = %(workspace)s"


class PostgresTextAnalyzer:
    """Splits, stems and drops stop words with ``to_tsvector``; counts with the GIN index."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def lexemes(self, texts: Sequence[str], *, language: str) -> list[frozenset[str]]:
        values = {"configuration": CONFIGURATIONS.get(language, "simple"), "texts": list(texts)}
        return [frozenset(row[0]) for row in await self._rows(LEXEMES, values)]

    async def document_frequencies(self, lexemes: Sequence[str], *, workspace: str) -> dict[str, int]:
        rows = await self._rows(FREQUENCIES, {"lexemes": list(lexemes), "workspace": workspace})
        return dict(rows)

    async def count_chunks(self, *, workspace: str) -> int:
        ((count,),) = await self._rows(COUNT_CHUNKS, {"workspace": workspace})
        return int(count)

    async def _rows(self, statement: str, values: Mapping[str, object]) -> list[TupleRow]:
        async def work() -> list[TupleRow]:
            async with self._database.autocommit() as connection:
                return await (await connection.execute(statement, values)).fetchall()

        return await self._database.read(work)
