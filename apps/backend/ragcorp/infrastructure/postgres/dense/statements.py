"""The SQL of the retrieval channels: each returns identities and scores only, best first, in a total order."""

from __future__ import annotations

from functools import lru_cache

from ragcorp.infrastructure.postgres.chunks import rows as chunk_rows
from ragcorp.infrastructure.postgres.models.embedding_models import indexed_type, is_active, last_with_vector

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
    one-time condition and costs nothing. Columns: chunks that wait for their vector and chunks that have one (0 unless
    some wait), both counted up to a bound, chunk id, cosine similarity.

    For a model that is not the active one any more nothing waits in the backlog: chunks wait in vain that came after
    the last with its vector. They are found by their id (|| '' keeps the planner from reading the whole workspace).
    """
    vector = f"e.embedding::{indexed_type(dimensions)}"
    query = f"%(embedding)s::{indexed_type(dimensions)}"
    columns = f"e.chunk_id, {vector} <=> {query} AS distance"
    active = is_active(model_id)
    last = last_with_vector("chunk_embeddings", key="chunk_id", model_id=model_id)
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
                (SELECT 1 FROM embedding_backlog WHERE workspace = %(workspace)s AND {active} LIMIT {SHARE_SAMPLE})
                UNION ALL
                (SELECT 1 FROM chunks c
                 WHERE c.workspace || '' = %(workspace)s AND NOT {active} AND c.id > {last}
                 LIMIT {SHARE_SAMPLE})) waiting) backlog
        LEFT JOIN LATERAL (
            SELECT count(*) AS chunks
            FROM (
                SELECT FROM chunk_embeddings e
                WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s AND backlog.pending > 0
                LIMIT {SHARE_SAMPLE}) counted) embedded ON true
        LEFT JOIN found ON true
        ORDER BY found.distance, found.chunk_id""")


def _short(statement: str) -> str:
    """Fold white space: psycopg remembers the parsed form of statements up to 4096 bytes; a third of ours is that."""
    return " ".join(statement.split())


CHUNKS_BY_ID = f"""
    SELECT {chunk_rows.COLUMNS}
    FROM unnest(%(ids)s::bigint[]) AS wanted (id)
    JOIN chunks c ON c.id = wanted.id
    JOIN documents d ON d.id = c.document_id
    WHERE {{visible}}
"""

CHUNK_IDS_BY_POSITION = """
    SELECT c.document_id, c.chunk_index, c.id
    FROM unnest(%(document_ids)s::uuid[], %(indexes)s::bigint[]) AS wanted (document_id, chunk_index)
    JOIN chunks c USING (document_id, chunk_index)
    WHERE {visible}
"""
