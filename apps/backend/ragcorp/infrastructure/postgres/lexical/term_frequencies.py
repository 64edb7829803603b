"""The port TermFrequencies over the statistics of BM25."""

import re
from collections.abc import Mapping
from functools import lru_cache

from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.lexical import bm25
from ragcorp.infrastructure.postgres.lexical.readable_words import readable_chunks
from ragcorp.infrastructure.postgres.lexical.text_analysis import COUNT_CHUNKS
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

MAX_WORDS = 64
"""Words of a text that are counted; the others count as unknown."""

MOST_CHUNKS = 10_000
"""Chunks checked per call, to find a readable one of each lexeme."""

_WORD = re.compile(r"[^\W_]{2,100}")


@lru_cache(maxsize=64)
def word_frequencies(*, visible: str) -> str:
    """Return the statement of each word's highest document frequency in the languages in use.

    Columns: word, frequency. A lexeme counts if one of its first ``most`` chunks is readable.
    """
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


class PostgresTermFrequencies:
    """One statement per call.

    Frequencies are the workspace's, as in ranking, for words of a readable chunk (ADR-033); of other words they are 0,
    as of words that do not occur.
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
