"""Restricts corrections and shown frequencies to words of readable chunks (ADR-033).

BM25 uses frequencies, corrections and totals of the workspace. A word that is shown, or that replaces one of the query,
must occur in a chunk that the caller may read.
"""

from collections.abc import Sequence
from functools import lru_cache

from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.connections.database import PooledConnection
from ragcorp.infrastructure.postgres.lexical import bm25
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate

MOST_CHUNKS = 10_000
"""Chunks checked for the frequencies of a query, and for each possible correction."""

FEWEST_CHUNKS = 100
"""Checked for each lexeme at least."""

MOST_DOCUMENTS = 50_000
"""Documents counted at most, in some 0.1 s."""

SOUND_LETTERS, LETTERS = "abdefgijklmnoprstux", "abcdefghijklmnñopqrstuvwxyz"
"""The letters of nearest_word in migration 006."""


def readable_chunks(lexeme: str, key: str, visible: str, *, most: str) -> str:
    """Return the FROM clause of readable chunks with a lexeme, among the first ``most`` with its key."""
    return f"""
        FROM (
            SELECT b.chunk_id FROM bm25_chunks b
            WHERE bm25_impacts(b.terms, b.length) OPERATOR(pg_catalog.&&) ARRAY[{key}]
            LIMIT {most}) AS b
        CROSS JOIN LATERAL (SELECT * FROM chunks WHERE id = b.chunk_id OFFSET 0) AS c
        WHERE c.lexemes @@ array_to_tsvector(ARRAY[{lexeme}])::text::tsquery AND {visible}"""


@lru_cache(maxsize=64)
def visible_frequencies(*, visible: str, documents_visible: str) -> str:
    """Return the statement of ``VisibleFrequencies``: one row per lexeme, or one without.

    Columns: readable chunks, whether all are readable, lexeme, chunks with it. Values: those of ``visible``,
    ``lexemes``, ``most``.
    """
    containing = readable_chunks(
        "given.lexeme", "bm25_key(w.id, given.lexeme)", visible, most="(SELECT %(most)s::integer)"
    )
    return f"""
        WITH seen AS MATERIALIZED (
            SELECT count(*) AS documents, coalesce(sum(d.chunk_count) FILTER (WHERE {documents_visible}), 0) AS chunks,
                   coalesce(bool_and({documents_visible}), true) AS everything
            FROM (
                SELECT * FROM documents WHERE workspace = %(workspace)s AND deleted_at IS NULL
                LIMIT {MOST_DOCUMENTS + 1}) AS d)
        SELECT seen.chunks, seen.everything AND seen.documents <= {MOST_DOCUMENTS}, given.lexeme, counted.chunks
        FROM seen
        LEFT JOIN (
            unnest(%(lexemes)s::text[]) AS given (lexeme)
            JOIN bm25_workspaces w ON w.workspace = %(workspace)s) ON true
        LEFT JOIN LATERAL (
            SELECT count(*) AS chunks {containing} AND given.lexeme IS NOT NULL) AS counted ON true"""


@lru_cache(maxsize=64)
def nearest_readable_words(*, visible: str) -> str:
    """Return the statement of the ``nearest_word`` of each of ``words`` among the words of readable chunks.

    Columns: word, lexeme, document frequency in the workspace, trigram similarity; no row for a word without one.
    """
    containing = readable_chunks("candidate.lexeme", "bm25_key(w.id, candidate.lexeme)", visible, most=str(MOST_CHUNKS))
    readable = f"""
        CROSS JOIN LATERAL (SELECT (lexeme_frequencies(%(workspace)s, ARRAY[candidate.lexeme]))[1] AS frequency) AS df
        JOIN bm25_workspaces w ON w.workspace = %(workspace)s
        WHERE EXISTS (SELECT {containing})"""
    return f"""
        WITH misspelt AS MATERIALIZED (
            SELECT word, word_sound(word) AS spoken, word_neighbours(word_sound(word), '{SOUND_LETTERS}') AS sounds,
                   word_neighbours(word, '{LETTERS}') AS spellings
            FROM unnest(%(words)s::text[]) AS word),
        near AS MATERIALIZED (
            SELECT m.word, l.lexeme, l.sound = m.spoken AS alike, trigram_similarity(l.word, m.word) AS similarity
            FROM misspelt m
            CROSS JOIN LATERAL (
                SELECT * FROM lexicon WHERE workspace = %(workspace)s AND sound = ANY (m.sounds)
                UNION
                SELECT * FROM lexicon WHERE workspace = %(workspace)s AND word = ANY (m.spellings)) AS l),
        first AS MATERIALIZED (
            SELECT DISTINCT ON (candidate.word) candidate.word, candidate.lexeme, df.frequency, candidate.similarity
            FROM (
                SELECT * FROM near WHERE alike OR length(word) >= 5 AND similarity >= 0.3) AS candidate {readable}
            ORDER BY candidate.word, alike DESC, similarity DESC, frequency DESC, candidate.lexeme),
        second AS (
            SELECT DISTINCT ON (candidate.word) candidate.word, candidate.lexeme, df.frequency, candidate.similarity
            FROM (
                SELECT m.word, l.lexeme, trigram_similarity(l.word, m.word) AS similarity
                FROM misspelt m CROSS JOIN LATERAL similar_words(%(workspace)s, m.word) AS l
                WHERE length(m.word) >= 7 AND abs(length(l.word) - length(m.word)) <= 2
                  AND m.word NOT IN (SELECT word FROM first)) AS candidate {readable} AND similarity >= 0.5
            ORDER BY candidate.word, similarity DESC, frequency DESC, candidate.lexeme)
        SELECT * FROM first UNION ALL SELECT * FROM second"""


async def corrected(
    connection: PooledConnection, rows: Sequence[TupleRow], *, visible: Predicate
) -> Sequence[TupleRow]:
    """Return the rows of ``query_terms`` without corrections by words that the principal may not know.

    The nearest word of a readable chunk replaces such a correction; without one, the word stays as typed.
    """
    words = sorted({row[0] for row in rows if row[4] is not None})
    if not words:
        return rows
    statement = nearest_readable_words(visible=visible.sql)
    (nearest_rows,) = await connection.fetch_together(
        [(statement, {**visible.values, "words": words})], settings=(bm25.SETTINGS, {})
    )
    nearest = {word: rest for word, *rest in nearest_rows}
    return [row if row[4] is None else _corrected(row, nearest.get(row[0])) for row in rows]


def _corrected(row: TupleRow, nearest: Sequence[object] | None) -> TupleRow:
    word, _, kind, _, typed, _ = row
    if nearest is None:
        return (word, typed, kind, 0, None, 1.0)
    lexeme, frequency, similarity = nearest
    return (word, lexeme, kind, frequency, typed, similarity)
