"""The port TextAnalyzer over the text analysis of the index (migration 004), shared by search and answers."""

from collections.abc import Sequence

from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database

LEXEMES = """
    SELECT tsvector_to_array(text_lexemes(%(language)s, passage))
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS given (passage, position)
    ORDER BY position
"""

FREQUENCIES = """
    SELECT lexeme, frequency
    FROM (SELECT %(lexemes)s::text[] AS lexemes) AS given,
         unnest(lexemes, lexeme_frequencies(%(workspace)s, lexemes)) AS counted (lexeme, frequency)
"""

COUNT_CHUNKS = "SELECT coalesce((SELECT chunks FROM bm25_totals(%(workspace)s)), 0)"


class PostgresTextAnalyzer:
    """Analyses with ``text_lexemes``; counts with the statistics of BM25."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def lexemes(self, texts: Sequence[str], *, language: str) -> list[frozenset[str]]:
        rows = await self._database.fetch(
            LEXEMES, {"language": language, "texts": list(texts)}, workspace=EVERY_WORKSPACE
        )
        return [frozenset(row[0]) for row in rows]

    async def document_frequencies(self, lexemes: Sequence[str], *, workspace: str) -> dict[str, int]:
        rows = await self._database.fetch(
            FREQUENCIES, {"lexemes": list(lexemes), "workspace": workspace}, workspace=workspace
        )
        return dict(rows)

    async def count_chunks(self, *, workspace: str) -> int:
        ((count,),) = await self._database.fetch(COUNT_CHUNKS, {"workspace": workspace}, workspace=workspace)
        return int(count)
