"""The ports TextAnalyzer and TermFrequencies over the index's text analysis (migration 004) and BM25's statistics."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.lexical import bm25
from ragcorp.infrastructure.postgres.lexical.readable_words import readable_chunks
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

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

MAX_WORDS = 64
"""Words of a text that are counted; the others count as unknown."""

MOST_CHUNKS = 10_000
"""Chunks checked per call, to find a readable one of each lexeme."""

_WORD = re.compile(r"[^\W_]{2,100}")


@lru_cache(maxsize=64)
def word_frequencies(*, visible: str) -> str:
    """Columns: word, highest document frequency of its lexemes with a readable chunk among the first ``most``."""
    key, most = "bm25_key(w.id, counted.lexeme)", "(SELECT %(most)s::integer)"
    containing = readable_chunks("counted.lexeme", key, visible, most=most)
    return f"""
        WITH analysed AS MATERIALIZED (
            SELECT DISTINCT word, lexeme
            FROM unnest(%(words)s::text[]) AS word
            CROSS JOIN unnest(query_languages(%(workspace)s, %(language)s)) AS language
            CROSS JOIN LATERAL unnest(tsvector_to_array(folded_words(language, folded_text(word)))) AS lexeme),
        counted AS MATERIALIZED (
            SELECT counted.lexeme, counted.frequency
            FROM (SELECT array_agg(DISTINCT lexeme) AS lexemes FROM analysed) AS every
            CROSS JOIN LATERAL unnest(every.lexemes, lexeme_frequencies(%(workspace)s, every.lexemes))
                AS counted (lexeme, frequency)
            JOIN bm25_workspaces w ON w.workspace = %(workspace)s
            WHERE counted.frequency > 0 AND EXISTS (SELECT {containing}))
        SELECT analysed.word, max(counted.frequency) FROM analysed JOIN counted USING (lexeme) GROUP BY analysed.word"""


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


class PostgresTermFrequencies:
    """One statement per call.

    Frequencies are the workspace's, as in ranking, for words of a readable chunk (ADR-033); for other words they are 0,
    as for words that do not occur.
    """

    def __init__(self, *, database: Database, default_language: str = "es") -> None:
        self._database = database
        self._default_language = default_language

    async def document_frequencies(self, text: str, *, principal: Principal) -> Mapping[str, int]:
        words = list(dict.fromkeys(_WORD.findall(text)))
        counted = words[:MAX_WORDS]
        if not counted:
            return dict.fromkeys(words, 0)
        visible = visibility(principal)
        values = visible.values | {
            "words": counted,
            "language": self._default_language,
            "most": MOST_CHUNKS // len(counted),
        }
        rows = await self._database.fetch(
            word_frequencies(visible=visible.sql), values, workspace=principal.workspace, settings=bm25.SETTINGS
        )
        return dict.fromkeys(words, 0) | {word: int(count) for word, count in rows}

    async def count_chunks(self, *, principal: Principal) -> int:
        workspace = principal.workspace
        ((count,),) = await self._database.fetch(COUNT_CHUNKS, {"workspace": workspace}, workspace=workspace)
        return int(count)
