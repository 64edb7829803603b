"""The SQL of full text apart from BM25: terms of a query, ADR-012's ``tsv`` column, lexeme counts of given chunks."""

from functools import lru_cache
from itertools import repeat

from psycopg.rows import TupleRow

from ragcorp.domain.search.requests import QuerySyntax, SparseOperator
from ragcorp.infrastructure.postgres.connections.statement_text import single_line

TERMS = """
    SELECT word, lexeme, kind, document_frequency, typed, similarity
    FROM languages_of_query(%(workspace)s, %(language)s) AS languages,
         query_terms(%(workspace)s, languages.codes, %(query)s)
    ORDER BY position, lexeme
"""

TOTALS = "SELECT chunks, average_length, is_stale FROM search_statistics WHERE workspace = %(workspace)s"
"""Number of chunks N, their mean length avgdl, and whether a refresh of the search statistics is due.

No row: the workspace has no indexed chunk.
"""

_EACH_WORD = """
    (SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, '{operator}')::tsquery
     FROM unnest(tsvector_to_array(to_tsvector('spanish', %(query)s))) AS lexeme)"""
EVERY_WORD, ANY_WORD = (_EACH_WORD.format(operator=operator) for operator in "&|")
"""Distinct lexemes: ``plainto_tsquery`` keeps repetitions, each of which costs ``ts_rank_cd`` time."""

WEBSEARCH = """
    CASE WHEN regexp_count(%(query)s, '(^|\\W)-') > 10 THEN plainto_tsquery('spanish', %(query)s)
         ELSE websearch_to_tsquery('spanish', regexp_replace(%(query)s, '-{2,}|-(?!\\S)', ' ', 'g')) END"""
"""Rules of dashes, bullets and more than ten negations count as text: PostgreSQL's parser fails on 33 negations."""


def tsquery(*, syntax: QuerySyntax, operator: SparseOperator) -> str:
    """Return the expression of ADR-012's tsquery: all words, any word, or websearch syntax."""
    if syntax is QuerySyntax.WEBSEARCH:
        return WEBSEARCH
    return EVERY_WORD if operator is SparseOperator.AND else ANY_WORD


@lru_cache(maxsize=256)
def ranked_by_cover_density(*, expression: str, limit: int, visible: str, filtered: str | None) -> str:
    """Return the statement of ADR-012's channel. Columns: chunk id, ``ts_rank_cd``; ties by chunk id."""
    return f"""
        SELECT c.id, ts_rank_cd(c.tsv, words.query)::float8 AS score
        FROM (SELECT {expression} AS query) AS words, chunks c
        WHERE c.tsv @@ words.query AND {visible} AND {filtered or "true"}
        ORDER BY score DESC, c.id LIMIT {limit}"""


@lru_cache(maxsize=256)
def ranked_by_typed_words(ranking: str) -> str:
    """Return a ranking's statement that finds its lexemes itself, from the words of ``query`` as typed.

    ``ranking`` is a statement of ``bm25_top``. It ranks nothing if a word is misspelt: which word replaces it
    depends on the caller. One row of arrays, which ``typed_words_and_ranking`` reads.
    """
    ranked = ranking.replace("%(lexemes)s", "(SELECT looked_for FROM typed_words)")
    return single_line(f"""
        WITH typed_words AS MATERIALIZED (
            SELECT array_agg(word) AS words, array_agg(lexeme) AS lexemes, array_agg(kind) AS kinds,
                   array_agg(document_frequency) AS frequencies, array_agg(typed) AS typed,
                   array_agg(similarity) AS similarities,
                   CASE WHEN count(typed) = 0
                        THEN array_agg(lexeme) FILTER (WHERE document_frequency > 0) END AS looked_for
            FROM ({TERMS}) AS terms)
        SELECT totals.*, words, lexemes, kinds, frequencies, typed, similarities, ranked.*
        FROM typed_words LEFT JOIN ({TOTALS}) AS totals ON true,
            (SELECT array_agg(chunk_id), array_agg(score), array_agg(certified), bool_or(cut), max(scored), max(theta),
                    array_agg(evidence), array_agg(every)
             FROM ({ranked}) AS ranking) AS ranked""")


def typed_words_and_ranking(row: TupleRow) -> tuple[int | None, float | None, bool, list[TupleRow], list[TupleRow]]:
    """Return the columns of ``TOTALS``, and the rows of ``TERMS`` and of the ranking."""
    chunks, average_length, is_stale, *terms, ids, scores, certified, cut, scored, theta, evidence, every = row
    rows = [] if terms[0] is None else list(zip(*terms, strict=True))
    ranking = zip(
        ids, scores, certified, repeat(cut), repeat(scored), repeat(theta), evidence, every, strict=False
    )  # every array is as long as that of the ids
    return chunks, average_length, bool(is_stale), rows, list(ranking)


@lru_cache(maxsize=64)
def admitted(*, visible: str) -> str:
    """Return the statement of the chunks ``ids`` that match the query's websearch operators. Column: chunk id."""
    return f"""
        SELECT c.id
        FROM (SELECT {WEBSEARCH} AS query) AS words, unnest(%(ids)s::bigint[]) AS requested (id)
        JOIN chunks c USING (id)
        WHERE (numnode(words.query) = 0 OR c.tsv @@ words.query) AND {visible}"""


@lru_cache(maxsize=64)
def lexeme_counts(*, visible: str) -> str:
    """Return the statement that counts ``lexemes`` in the chunks ``ids``.

    Columns: chunk id, length, postings, keys of the lexemes. A posting is a key plus tf, where 15 means 15 or more
    (see bm25.py).
    """
    return f"""
        WITH given AS MATERIALIZED (
            SELECT coalesce(array_agg(bm25_key(w.id, lexeme) ORDER BY position), '{{}}') AS keys
            FROM bm25_workspaces w, unnest(%(lexemes)s::text[]) WITH ORDINALITY AS t (lexeme, position)
            WHERE w.workspace = %(workspace)s),
        wanted AS MATERIALIZED (
            SELECT coalesce(array_agg(key | tf ORDER BY key | tf), '{{}}') AS postings
            FROM (SELECT DISTINCT unnest(keys) AS key FROM given) AS k, generate_series(1, 15) AS tf)
        SELECT b.chunk_id, b.length, bm25_common(b.terms, wanted.postings), given.keys
        FROM given, wanted, unnest(%(ids)s::bigint[]) AS requested (id)
        JOIN bm25_chunks b ON b.chunk_id = requested.id
        JOIN chunks c ON c.id = b.chunk_id
        WHERE {visible}"""
