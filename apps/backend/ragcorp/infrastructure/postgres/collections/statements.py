"""The sparse statement of artifacts, memory and history: BM25 as in bm25.py, over the readable rows.

The statement counts df among the rows that contain a lexeme of the query and pass the filters. N and avgdl are those
of the workspace's readable rows, or of the first ``TOTALS`` (for documents ``DOCUMENT_TOTALS``) by key if there are
more. A tf of 15 means 15 or more.
"""

from functools import lru_cache

from ragcorp.infrastructure.postgres.connections.statement_text import single_line
from ragcorp.infrastructure.postgres.tables.collections import CollectionTable

SETTINGS = """
    SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('max_parallel_workers_per_gather', '0', true),
           set_config('enable_seqscan', 'off', true),
           set_config('random_page_cost', '1.1', true),
           set_config('jit', 'off', true)
"""
"""Settings for the transaction of ``matching`` only: see bm25.py."""

BUDGET = 30_000
"""Rows scored at most, of those that contain a word of the query and pass the filters."""

TOTALS = 50_000
DOCUMENT_TOTALS = 10_000
"""Items and documents that N and avgdl are computed from; a document costs ten times as much."""

LATEST = 10_000
"""If at most this many rows are young enough for the query, they are read by age."""

VOUCHED = 1000
"""Chunks searched for a readable one that contains the correction of an unknown word."""

MOST_CORRECTED = 20
"""Unknown words of a query that are corrected; each costs a millisecond."""


@lru_cache(maxsize=256)
def matching(
    table: CollectionTable,
    *,
    limit: int,
    visible: str,
    visible_chunk: str,
    filtered: str | None = None,
    bounded_in_time: bool = False,
    budget: int = BUDGET,
) -> str:
    """Return the sparse statement. Columns: whether the budget cut the search, key, score; one row at least.

    Values: ``workspace``, ``language`` (the default), ``query``, ``since`` if ``bounded_in_time``; those of ``visible``
    (over ``rows``) and ``visible_chunk`` (over chunks c).

    A word matches by its lexemes in every language of the workspace, unless it is a stop word of the first. A word
    without a readable row is replaced by the nearest word of a readable chunk, with the similarity as weight.
    """
    postings = table.with_postings
    alias = postings.alias
    own_rows = alias == table.alias
    # one condition per subquery: a generic plan made on empty tables cannot tell indexes apart
    holding = f"""
        (SELECT * FROM {postings.table}
         WHERE bm25_impacts(terms, length) OPERATOR(pg_catalog.&&) {{keys}} OFFSET 0) AS {alias}"""
    if not own_rows:
        holding += f"""
            CROSS JOIN LATERAL (SELECT * FROM documents WHERE id = {alias}.{postings.key} OFFSET 0) AS {table.alias}"""
    wanted = f"{visible} AND {filtered or 'true'}"
    if bounded_in_time:
        wanted += f" AND {table.alias}.occurred_at >= %(since)s::timestamptz"
    columns = f"{alias}.{postings.key} AS key, {alias}.length, bm25_common({alias}.terms, scan.postings) AS common"
    matched = f"SELECT {columns} FROM scan CROSS JOIN LATERAL {holding.format(keys='scan.keys')} WHERE {wanted}"
    latest = ""
    if bounded_in_time and own_rows:
        young = f"""
            FROM {postings.table}
            WHERE workspace = %(workspace)s AND occurred_at >= %(since)s::timestamptz ORDER BY occurred_at"""
        latest = f"""
            latest AS MATERIALIZED (
                SELECT count(*) <= {LATEST} AS hold FROM (SELECT {young} LIMIT {LATEST + 1}) AS counted),"""
        matched = f"""
            {matched} AND NOT (SELECT hold FROM latest)
            UNION ALL
            SELECT {columns} FROM scan, (SELECT * {young} OFFSET 0) AS {alias}
            WHERE (SELECT hold FROM latest) AND bm25_common({alias}.terms, scan.postings) <> '{{}}' AND {wanted}"""
    return single_line(f"""
        WITH languages AS MATERIALIZED (
            SELECT query_languages(%(workspace)s, %(language)s) AS codes, {postings.seed} AS seed),
        words AS MATERIALIZED (
            SELECT l.place, w.*, bm25_key(languages.seed, w.lexeme) AS key
            FROM languages, unnest(languages.codes) WITH ORDINALITY AS l (code, place),
                 query_words(l.code, %(query)s) AS w),
        typed AS MATERIALIZED (
            SELECT w.position, w.word, w.kind, w.lexeme, w.key FROM words w
            WHERE w.kind <> 'word' OR EXISTS (
                SELECT FROM words f WHERE f.place = 1 AND f.position = w.position AND f.word = w.word)),
        unknown AS MATERIALIZED (
            SELECT string_agg(word, ' ') AS words
            FROM (
                SELECT t.word
                FROM typed t, LATERAL (SELECT EXISTS (
                    SELECT FROM {holding.format(keys="ARRAY[t.key]")} WHERE {visible}) AS here) AS held
                WHERE t.kind = 'word' AND t.word ~ '^[[:alpha:]]{{4,40}}$'
                GROUP BY t.word HAVING NOT bool_or(held.here)
                ORDER BY min(t.position) LIMIT {MOST_CORRECTED}) AS missing),
        terms AS MATERIALIZED (
            SELECT t.key, max(t.weight) AS weight, array_agg(t.lexeme) AS lexemes
            FROM (
                SELECT key, 1::float8 AS weight, lexeme FROM typed
                UNION ALL
                SELECT bm25_key(languages.seed, near.lexeme), near.similarity, near.lexeme
                FROM languages, unknown,
                     query_terms(%(workspace)s, languages.codes, unknown.words) AS near
                WHERE near.typed IS NOT NULL AND {_vouched("near.lexeme", visible_chunk)}) AS t
            GROUP BY t.key),
        words_query AS MATERIALIZED (
            SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, '|')::tsquery AS query
            FROM terms, unnest(terms.lexemes) AS lexeme),
        scan AS MATERIALIZED (
            SELECT ARRAY(SELECT key FROM terms) AS keys,
                   ARRAY(SELECT key | tf FROM terms, generate_series(1, 15) AS tf ORDER BY 1) AS postings),{latest}
        candidates AS MATERIALIZED (SELECT * FROM ({matched}) AS c LIMIT {budget + 1}),
        totals AS MATERIALIZED (
            SELECT count(*)::float8 AS rows, avg(length)::float8 AS average FROM ({_readable(table, visible)}) AS r),
        postings AS MATERIALIZED (
            SELECT c.key, 1.2::float8 * (0.25::float8 + 0.75::float8 * c.length / totals.average) AS damping,
                   unnest(c.common) AS posting
            FROM totals, candidates c),
        weights AS MATERIALIZED (
            SELECT t.key AS term,
                   t.weight * ln(1 + (greatest(totals.rows, n.df) - n.df + 0.5) / (n.df + 0.5)) AS weight
            FROM totals, terms t JOIN (
                SELECT posting & -16 AS term, count(*) AS df FROM postings GROUP BY 1) AS n ON n.term = t.key),
        scored AS MATERIALIZED (
            SELECT p.key,
                   round(1e9 * sum(w.weight * 2.2::float8 / (1 + p.damping / (p.posting & 15)))) / 1e9 AS score
            FROM postings p JOIN weights w ON w.term = p.posting & -16 GROUP BY p.key),
        ranked AS (
            SELECT best.key, best.score
            FROM words_query AS words,
                 (SELECT key, score FROM scored ORDER BY score DESC, key) AS best
                 CROSS JOIN LATERAL ({postings.contains}) AS held
            ORDER BY best.score DESC, best.key LIMIT {limit})
        SELECT looked.cut, ranked.key, ranked.score
        FROM (SELECT count(*) > {budget} AS cut FROM candidates) AS looked LEFT JOIN ranked ON true
        ORDER BY ranked.score DESC NULLS LAST, ranked.key""")


def _readable(table: CollectionTable, visible: str) -> str:
    """Return the query of the readable rows' lengths; for items an index-only scan."""
    postings = table.with_postings
    if postings.alias == table.alias:
        return f"""
            SELECT {table.alias}.length FROM {table.rows} WHERE {visible}
            ORDER BY {table.alias}.workspace, {table.key} LIMIT {TOTALS}"""
    return f"""
        SELECT p.length
        FROM (
            SELECT {postings.key}, length FROM {postings.table} WHERE workspace = %(workspace)s
            ORDER BY {postings.key} OFFSET 0) AS p
        CROSS JOIN LATERAL (SELECT * FROM documents WHERE id = p.{postings.key} OFFSET 0) AS {table.alias}
        WHERE {visible} LIMIT {DOCUMENT_TOTALS}"""


def _vouched(lexeme: str, visible_chunk: str) -> str:
    return f"""EXISTS (
        SELECT FROM (
            SELECT b.chunk_id FROM bm25_workspaces s
            CROSS JOIN LATERAL (
                SELECT chunk_id FROM bm25_chunks
                WHERE bm25_impacts(terms, length) OPERATOR(pg_catalog.&&) ARRAY[bm25_key(s.id, {lexeme})]
                LIMIT {VOUCHED}) AS b
            WHERE s.workspace = %(workspace)s) AS holding
        CROSS JOIN LATERAL (SELECT * FROM chunks WHERE id = holding.chunk_id OFFSET 0) AS c
        WHERE {visible_chunk})"""
