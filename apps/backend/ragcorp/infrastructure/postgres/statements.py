"""The SQL of the retrieval channels: each returns identities and scores only, best first, in a total order."""

from __future__ import annotations

from functools import lru_cache

from ragcorp.infrastructure.postgres.embedding_models import indexed_type

SCAN_SETTINGS = """
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
           set_config('hnsw.ef_search', %(ef_search)s, true),
           set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s, true),
           set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('max_parallel_workers_per_gather', '0', true),
           set_config('enable_seqscan', 'off', true),
           set_config('random_page_cost', '1.1', true)
"""
"""What the statements of this file are planned and run with, for their transaction only.

Planning costs as much as the search itself, so plans are generic; the statements decide by counting, at run time, what
a plan for given values would decide by statistics. Parallel workers would be launched for branches that never run.
"""

EXACT_LIMIT = """
    SELECT 20 * sqrt(greatest(reltuples, 10000))::int AS chunks FROM pg_class WHERE oid = 'chunk_embeddings'::regclass
"""
"""Up to so many chunks are compared one by one: 2000 of 10k, 6300 of 100k, 20,000 of a million.

Among n chunks a filter that m of them pass costs m comparisons, or some 100 n / m steps through the HNSW graph to find
100 hits; a step takes about four times as long (docs/benchmarks.md), and both are equal where m is 20 times sqrt(n).
"""


SHARE_SAMPLE = 10_000
"""Up to so many chunks are counted for the share that dense can see: a millisecond, and only while some wait."""


@lru_cache(maxsize=256)
def similar_chunks(
    *,
    model_id: int,
    dimensions: int,
    limit: int,
    visible: str,
    filtered: str | None = None,
    matching: str | None = None,
) -> str:
    """Return the dense statement for one shape of filter: ``filtered`` over chunks, ``matching`` over documents.

    Where few chunks come into question (a small workspace, a narrow filter), all of them are compared. Else the HNSW
    scan is tried; where it ends below ``limit``, the exact scan replaces it. A branch that is not needed carries a
    one-time condition and costs nothing. Columns: chunks that wait for
    their vector and chunks that have one (0 unless some wait), both counted up to a bound, chunk id, cosine similarity.
    """
    vector = f"e.embedding::{indexed_type(dimensions)}"
    query = f"%(embedding)s::{indexed_type(dimensions)}"
    columns = f"e.chunk_id, {vector} <=> {query} AS distance"
    source = f"""
        SELECT {columns}
        FROM chunk_embeddings e JOIN chunks c ON c.id = e.chunk_id
        WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s AND {visible} AND {filtered or "true"}"""
    approximate = f"ORDER BY {vector} <=> {query} LIMIT {limit}"
    # + 0 keeps the planner from serving the exact order with the approximate index
    exact = f"ORDER BY ({vector} <=> {query}) + 0, e.chunk_id LIMIT {limit}"
    found_too_few = f"(SELECT count(*) FROM nearest) < {limit}"
    if filtered is None:
        branches = f"""
            few AS MATERIALIZED (
                SELECT count(*) <= (SELECT chunks FROM exact_limit) AS hold
                FROM (
                    SELECT FROM chunk_embeddings e
                    WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s
                    LIMIT (SELECT chunks + 1 FROM exact_limit)) counted),
            nearest AS MATERIALIZED ({source} AND NOT (SELECT hold FROM few) {approximate}),
            everything AS ({source} AND {found_too_few} {exact}),"""
    else:
        # attributes stand on documents too, of which there are fewer; no more of them are read than `few` asks for
        branches = f"""
            matching AS MATERIALIZED (SELECT d.id, d.chunk_count FROM documents d WHERE {matching}),
            few AS MATERIALIZED (
                SELECT count(*) <= (SELECT chunks FROM exact_limit) AS hold
                FROM (
                    SELECT FROM matching m, generate_series(1, m.chunk_count)
                    LIMIT (SELECT chunks + 1 FROM exact_limit)) counted),
            nearest AS MATERIALIZED ({source} AND NOT (SELECT hold FROM few) {approximate}),
            everything AS (
                (SELECT {columns}
                 FROM matching m JOIN chunks c ON c.document_id = m.id JOIN chunk_embeddings e ON e.chunk_id = c.id
                 WHERE e.model_id = {model_id} AND (SELECT hold FROM few) {exact})
                UNION ALL
                ({source} AND NOT (SELECT hold FROM few) AND {found_too_few} {exact})),"""
    return _short(f"""
        WITH exact_limit AS MATERIALIZED ({EXACT_LIMIT}),{branches}
        found AS (
            SELECT * FROM nearest WHERE NOT {found_too_few}
            UNION ALL SELECT * FROM everything)
        SELECT backlog.pending, embedded.chunks, found.chunk_id, 1 - found.distance AS score
        FROM (
            SELECT count(*) AS pending
            FROM (
                SELECT FROM embedding_backlog WHERE workspace = %(workspace)s LIMIT {SHARE_SAMPLE}) waiting) backlog
        LEFT JOIN LATERAL (
            SELECT count(*) AS chunks
            FROM (
                SELECT FROM chunk_embeddings e
                WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s AND backlog.pending > 0
                LIMIT {SHARE_SAMPLE}) counted) embedded ON true
        LEFT JOIN found ON true
        ORDER BY found.distance, found.chunk_id""")


WORDS = """
    SELECT CASE WHEN regexp_count(typed, '(^|\\W)-') > 10 THEN plainto_tsquery('spanish', typed)
                ELSE websearch_to_tsquery('spanish', typed) END AS every,
           terms, array_to_string(terms, ' | ')::tsquery AS some
    FROM (
        SELECT regexp_replace(%(query)s, '-{2,}|-(?!\\S)', ' ', 'g') AS typed, ARRAY(
            SELECT regexp_replace(array_to_tsvector(ARRAY[lexeme])::text, '^''-?(\\d+)''$', '(''\\1'' | ''-\\1'')')
            FROM unnest(tsvector_to_array(to_tsvector('spanish', %(query)s))) AS lexeme
            WHERE to_tsvector('spanish', lexeme) <> '') AS terms) AS parsed"""
"""The query's words joined by AND, as typed (quotes, minus), and its lexemes one by one and joined by OR.

A number also stands for itself after a hyphen: the parser reads the 2024 of REQ-2024-001 as -2024. A lexeme that is a
stop word itself (the cual of cuál) is left out. A rule of dashes, a list's dash and more than ten negations are text:
PostgreSQL's parser fails on 33 of them.
"""


@lru_cache(maxsize=256)
def full_text_chunks(*, limit: int, visible: str, filtered: str | None) -> str:
    """Return the sparse statement (ADR-012, ADR-018). Columns: chunk id, score, whether the chunk holds every word.

    Chunks that hold every word, by ``ts_rank_cd``; where there is none, the ``limit`` best by ``ts_rank`` of those that
    hold any, by the share of the query's lexemes that they hold, ties by ``ts_rank``.
    """
    matched = f"{visible} AND {filtered}" if filtered else visible
    return _short(f"""
        WITH words AS MATERIALIZED ({WORDS}),
        strict AS MATERIALIZED (
            SELECT c.id, ts_rank_cd(c.tsv, words.every) AS score
            FROM words, chunks c
            WHERE c.tsv @@ words.every AND {matched}
            ORDER BY score DESC, c.id LIMIT {limit}),
        relaxed AS MATERIALIZED (
            SELECT c.id, c.tsv, ts_rank(c.tsv, words.some) AS rank
            FROM words, chunks c
            WHERE c.tsv @@ words.some AND {matched} AND (SELECT count(*) FROM strict) = 0
            ORDER BY rank DESC, c.id LIMIT {limit})
        SELECT id, score::float8, true, 0::real AS rank FROM strict
        UNION ALL
        SELECT id,
               (SELECT count(*) FROM unnest(words.terms) AS term WHERE relaxed.tsv @@ term::tsquery)::float8
               / cardinality(words.terms),
               false, rank
        FROM words, relaxed
        ORDER BY 2 DESC, 4 DESC, 1""")


def _short(statement: str) -> str:
    """Fold white space: psycopg remembers the parsed form of statements up to 4096 bytes; a third of ours is that."""
    return " ".join(statement.split())


CHUNKS_BY_ID = """
    SELECT c.id, c.document_id, d.external_id, c.chunk_index, c.content, c.heading_path, c.title, c.language,
           d.path, d.metadata, c.line_start, c.line_end, c.page_start, c.page_end
    FROM unnest(%(ids)s::bigint[]) AS wanted (id)
    JOIN chunks c ON c.id = wanted.id
    JOIN documents d ON d.id = c.document_id
    WHERE {visible}
"""

CHUNK_IDS_BY_POSITION = """
    SELECT c.document_id, c.chunk_index, c.id
    FROM unnest(%(document_ids)s::uuid[], %(indexes)s::bigint[]) AS wanted (document_id, chunk_index)
    JOIN chunks c USING (document_id, chunk_index)
    WHERE {visible}
"""
