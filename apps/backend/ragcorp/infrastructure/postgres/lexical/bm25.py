"""The SQL of BM25: exact top k by impact levels in GIN, its evidence, and chunks with given lexemes (ADR-025).

    score(c) = sum over the query's lexemes of  weight * idf * 2.2 tf / (tf + 1.2 (.25 + .75 dl / avgdl))
    idf      = ln(1 + (N - df + .5) / (df + .5))

Robertson and Zaragoza, 2009, with k1 = 1.2 and b = .75. N and avgdl are the workspace's current ones, df the last
snapshot's, or counted for a lexeme without one. Repetitions of a lexeme in the query count once.

Values: ``workspace``, ``lexemes`` (text[]), ``weights`` (float8[], parallel; null: all 1), ``theta`` (float8).
"""

from collections.abc import Sequence
from functools import lru_cache

from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.connections.statement_text import single_line

SETTINGS = """
    SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('max_parallel_workers_per_gather', '0', true),
           set_config('enable_seqscan', 'off', true),
           set_config('jit', 'off', true)
"""
"""Settings for the transaction of these statements only.

A generic plan made on empty tables cannot tell indexes apart. So each subquery has one indexed condition, with
OFFSET 0 or LIMIT, and leaves the planner no choice.
"""

CERTIFIED = 20
"""Results that must be proven the best before a search ends."""

BUDGET = 30_000
"""Postings that a search reads at most; it reports that a query of common words was cut."""

PROVEN = 1e-8
"""By how much a score must exceed theta to be proven: scores are rounded to 1e-9."""

FEW = 20
"""A filter that leaves up to ``FEW * sqrt(N)`` of N chunks (10,000 at least) has each of them scored."""

HOLDS_A_LEXEME = """c.lexemes @@ (
    SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, '|')::tsquery
    FROM plan, unnest(plan.lexemes) AS lexeme)"""
"""Keys are hashes of 28 bits, which sometimes collide: chunks without any of the lexemes are dropped."""

DAMPING = "1.2::float8 * (0.25::float8 + 0.75::float8 * b.length / plan.average_length)"
"""Of type float8: a bare 0.75 times an integer is a numeric, ten times as slow."""

TERM_FREQUENCY = """CASE WHEN posting & 15 < 15 THEN posting & 15 ELSE coalesce((
    SELECT cardinality(entry.positions) FROM chunks c, unnest(c.lexemes) AS entry
    WHERE c.id = p.chunk_id AND entry.lexeme = p.lexemes[p.term]), 15) END"""
"""Four bits store a tf up to 14; 15 means 15 or more."""


@lru_cache(maxsize=256)
def bm25_top(
    *,
    limit: int,
    visible: str,
    filtered: str | None = None,
    matching: str | None = None,
    every_word: str = "NULL::tsquery",
    certified: int = CERTIFIED,
    budget: int = BUDGET,
) -> str:
    """Return the statement of the best ``limit`` chunks: ``filtered`` over chunks, ``matching`` over documents.

    A null ``theta`` is estimated. Columns: chunk id, score, whether no missing chunk can rank above this one, whether
    the budget cut the search, number of chunks scored, theta (every chunk of a higher score was seen; 0: every chunk
    with a lexeme), the score with each term's weight and idf squared, ``ts_rank_cd`` if the chunk's ``tsv`` matches
    ``every_word``, else null. Without a result one row without a chunk has the other columns. The search continues
    until ``next_theta`` returns None.
    """
    readable = f"{visible} AND {filtered}" if filtered else visible
    if filtered is None:
        few, counting, narrow = "false", "", ""
    else:
        few = "(SELECT hold FROM few)"
        counting = f"""
            matching AS MATERIALIZED (SELECT d.id, d.chunk_count FROM documents d WHERE {matching}),
            few AS MATERIALIZED (
                SELECT count(*) <= (SELECT {FEW} * sqrt(greatest(chunks, 10000))::integer FROM plan) AS hold
                FROM (
                    SELECT FROM matching m, generate_series(1, m.chunk_count)
                    LIMIT (SELECT {FEW} * sqrt(greatest(chunks, 10000))::integer + 1 FROM plan)) AS counted),"""
        narrow = f"""
            UNION ALL
            SELECT plan.keys, plan.weights, plan.lexemes, 0, b.chunk_id, {DAMPING},
                   unnest(bm25_common(b.terms, plan.postings))
            FROM plan, matching m
            CROSS JOIN LATERAL (SELECT * FROM chunks WHERE document_id = m.id OFFSET 0) AS c
            JOIN bm25_chunks b ON b.chunk_id = c.id
            WHERE {few} AND {readable}"""
    return single_line(f"""
        WITH plan AS MATERIALIZED (
            SELECT * FROM bm25_plan(
                %(workspace)s, %(lexemes)s::text[], %(weights)s::float8[], {certified}, {budget}, %(theta)s::float8)),
        every_word AS MATERIALIZED (SELECT {every_word} AS query),{counting}
        postings AS (
            SELECT plan.keys, plan.weights, plan.lexemes, scan.number, b.chunk_id, b.damping,
                   unnest(b.common) AS posting
            FROM plan,
                 unnest(plan.required, plan.alternatives) WITH ORDINALITY AS scan (required, alternatives, number),
                 LATERAL (
                     SELECT b.workspace_id, b.chunk_id, {DAMPING} AS damping,
                            bm25_common(b.terms, plan.postings) AS common
                     FROM bm25_chunks b
                     WHERE bm25_impacts(b.terms, b.length) OPERATOR(pg_catalog.&&) scan.required::integer[]
                       AND bm25_impacts(b.terms, b.length) OPERATOR(pg_catalog.&&) scan.alternatives::integer[]
                     LIMIT (SELECT most FROM plan)) AS b
            WHERE b.workspace_id = plan.workspace_id AND NOT {few}{narrow}),
        scored AS MATERIALIZED (
            SELECT number, chunk_id, round(1e9 * sum(weight * gain)) / 1e9 AS score,
                   round(1e9 * sum(weight * weight * gain)) / 1e9 AS evidence
            FROM (
                SELECT number, chunk_id, weights[term] AS weight, 2.2::float8 / (1 + damping / {TERM_FREQUENCY}) AS gain
                FROM (SELECT *, array_position(keys, posting & -16) AS term FROM postings) AS p
                OFFSET 0) AS gains
            GROUP BY number, chunk_id),
        ranked AS (
            SELECT best.*, CASE WHEN c.tsv @@ (SELECT query FROM every_word)
                                THEN ts_rank_cd(c.tsv, (SELECT query FROM every_word))::float8 END AS every
            FROM (
                SELECT DISTINCT ON (score, chunk_id) score, chunk_id, evidence
                FROM scored ORDER BY score DESC, chunk_id) AS best
            CROSS JOIN LATERAL (SELECT * FROM chunks WHERE id = best.chunk_id OFFSET 0) AS c
            WHERE {readable} AND {HOLDS_A_LEXEME}
            ORDER BY best.score DESC, best.chunk_id LIMIT {limit})
        SELECT ranked.chunk_id, ranked.score,
               {few} OR plan.theta = 0 OR ranked.score >= plan.theta + {PROVEN} AS certified,
               plan.is_cut AND NOT {few} AS cut, (SELECT count(*) FROM scored) AS scored,
               CASE WHEN {few} THEN 0 ELSE plan.theta END AS theta, ranked.evidence, ranked.every
        FROM plan LEFT JOIN ranked ON true
        ORDER BY ranked.score DESC NULLS LAST, ranked.chunk_id""")


def next_theta(rows: Sequence[TupleRow], *, certified: int = CERTIFIED, attempt: int) -> float | None:
    """Return the theta of the next ``bm25_top`` (``attempt`` 0 was the first), None if its rows are the result.

    ``certified`` is at most the statement's ``limit``. The second attempt mostly proves the first one's results;
    concurrent writers may cost another. The fifth attempt at the latest sees all chunks.
    """
    cut, theta = rows[0][3], rows[0][5]
    hits = [row for row in rows if row[0] is not None]
    if cut or theta == 0 or sum(row[2] for row in hits) >= certified:
        return None
    if len(hits) >= certified and attempt < 3:
        return max(0.0, float(hits[certified - 1][1]) - 2 * PROVEN)
    return float(theta) / 2 if attempt == 0 else 0.0


EVIDENCE = """
    SELECT b.chunk_id, b.length, ARRAY(
        SELECT coalesce(held.tf, 0)
        FROM unnest(%(lexemes)s::text[]) WITH ORDINALITY AS given (lexeme, position)
        LEFT JOIN (
            SELECT entry.lexeme, coalesce(cardinality(entry.positions), 1) AS tf
            FROM unnest(c.lexemes) AS entry WHERE entry.lexeme = ANY (%(lexemes)s::text[])) AS held USING (lexeme)
        ORDER BY position)
    FROM unnest(%(ids)s::bigint[]) AS requested (id)
    CROSS JOIN LATERAL (SELECT * FROM chunks WHERE chunks.id = requested.id OFFSET 0) AS c
    JOIN bm25_chunks b ON b.chunk_id = c.id
    WHERE c.workspace = %(workspace)s
"""
"""Columns: chunk id, length, tf of each of ``lexemes`` in order, from the tsvector itself."""


@lru_cache(maxsize=256)
def chunks_holding(*, limit: int, visible: str, filtered: str | None = None) -> str:
    """Return the statement that finds, for each of ``lexemes``, up to ``limit`` chunks with it, exactly.

    Columns: position of the lexeme from 1, lexeme, chunk id, tf, chunk length; by tf relative to length, then by id.
    For identifiers: of a lexeme in more than 10,000 chunks only some are seen.
    """
    return single_line(f"""
        SELECT given.position, given.lexeme, held.*
        FROM unnest(%(lexemes)s::text[]) WITH ORDINALITY AS given (lexeme, position)
        JOIN bm25_workspaces w ON w.workspace = %(workspace)s
        CROSS JOIN LATERAL (
            SELECT containing.id, counted.tf, containing.length
            FROM (
                SELECT c.id, c.lexemes, b.length
                FROM (
                    SELECT b.chunk_id, b.length
                    FROM bm25_chunks b
                    WHERE bm25_impacts(b.terms, b.length) OPERATOR(pg_catalog.&&) ARRAY[bm25_key(w.id, given.lexeme)]
                    LIMIT 10000) AS b
                CROSS JOIN LATERAL (SELECT * FROM chunks WHERE id = b.chunk_id OFFSET 0) AS c
                WHERE c.lexemes @@ array_to_tsvector(ARRAY[given.lexeme])::text::tsquery
                  AND {visible} AND {filtered or "true"}) AS containing,
                LATERAL (
                    SELECT coalesce(cardinality(entry.positions), 1) AS tf
                    FROM unnest(containing.lexemes) AS entry WHERE entry.lexeme = given.lexeme) AS counted
            ORDER BY counted.tf / (counted.tf + 0.3 + 0.015 * containing.length) DESC, containing.id
            LIMIT {limit}) AS held
        ORDER BY given.position, held.tf / (held.tf + 0.3 + 0.015 * held.length) DESC, held.id""")
