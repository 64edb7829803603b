"""The SQL of the retrieval channels: each returns identities and scores only, best first, in a total order."""

from __future__ import annotations

from functools import lru_cache

from ragcorp.infrastructure.postgres.embedding_models import indexed_type

EXACT_SCAN_LIMIT = 10_000
"""Up to so many chunks that pass a filter are compared one by one (some 10 ms); beyond, HNSW finds enough of them."""

SCAN_SETTINGS = """
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
           set_config('hnsw.ef_search', %(ef_search)s, true),
           set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s, true)
"""


@lru_cache(maxsize=256)
def similar_chunks(*, model_id: int, dimensions: int, limit: int, visible: str, filtered: str | None) -> str:
    """Return the dense statement for one shape of filter.

    The HNSW scan is tried first; where it ends below ``limit``, the exact scan replaces it in the same statement
    (its branch carries a one-time condition, so it costs nothing otherwise). A filter that few chunks pass goes
    to the exact scan at once. Columns: pending, chunk id, cosine similarity.
    """
    vector = f"e.embedding::{indexed_type(dimensions)}"
    query = f"%(embedding)s::{indexed_type(dimensions)}"
    source = f"""
        SELECT e.chunk_id, {vector} <=> {query} AS distance
        FROM chunk_embeddings e JOIN chunks c ON c.id = e.chunk_id
        WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s AND {visible}"""
    approximate = f"ORDER BY {vector} <=> {query} LIMIT {limit}"
    # + 0 keeps the planner from serving the exact order with the approximate index
    exact = f"ORDER BY ({vector} <=> {query}) + 0 LIMIT {limit}"
    if filtered is None:
        branches = f"""
            nearest AS MATERIALIZED ({source} {approximate}),
            everything AS ({source} AND (SELECT count(*) FROM nearest) < {limit} {exact}),
            found AS (
                SELECT * FROM nearest WHERE (SELECT count(*) FROM nearest) = {limit}
                UNION ALL SELECT * FROM everything)"""
    else:
        few = f"(SELECT count(*) FROM matching) <= {EXACT_SCAN_LIMIT}"
        branches = f"""
            matching AS MATERIALIZED (
                SELECT c.id FROM chunks c WHERE {visible} AND {filtered} LIMIT {EXACT_SCAN_LIMIT + 1}),
            few AS (
                SELECT e.chunk_id, {vector} <=> {query} AS distance
                FROM matching m JOIN chunk_embeddings e ON e.chunk_id = m.id
                WHERE e.model_id = {model_id} AND {few} {exact}),
            nearest AS MATERIALIZED ({source} AND {filtered} AND NOT {few} {approximate}),
            everything AS (
                {source} AND {filtered} AND NOT {few} AND (SELECT count(*) FROM nearest) < {limit} {exact}),
            found AS (
                SELECT * FROM few
                UNION ALL SELECT * FROM nearest WHERE (SELECT count(*) FROM nearest) = {limit}
                UNION ALL SELECT * FROM everything)"""
    return f"""
        WITH {branches}
        SELECT backlog.pending, found.chunk_id, 1 - found.distance AS score
        FROM (SELECT EXISTS (SELECT 1 FROM embedding_backlog WHERE workspace = %(workspace)s) AS pending) backlog
        LEFT JOIN found ON true
        ORDER BY found.distance, found.chunk_id"""


@lru_cache(maxsize=256)
def full_text_chunks(*, limit: int, visible: str, filtered: str | None) -> str:
    """Return the sparse statement (ADR-012): ``websearch_to_tsquery`` ranked by ``ts_rank_cd``.

    A question rarely has all its words in one chunk. Where no chunk has, the same words joined by OR are ranked
    instead; a number then also stands for the same number after a hyphen, since the parser reads the 2024 of
    REQ-2024-001 as -2024. Columns: chunk id, score.
    """
    matched = f"{visible} AND {filtered}" if filtered else visible
    return f"""
        WITH words AS MATERIALIZED (
            SELECT websearch_to_tsquery('spanish', %(query)s) AS every,
                   regexp_replace(
                       replace(plainto_tsquery('spanish', %(query)s)::text, ' & ', ' | '),
                       '''-?(\\d+)''', '(''\\1'' | ''-\\1'')', 'g')::tsquery AS some),
        strict AS MATERIALIZED (
            SELECT c.id, ts_rank_cd(c.tsv, words.every) AS score
            FROM words, chunks c
            WHERE c.tsv @@ words.every AND {matched}
            ORDER BY score DESC, c.id LIMIT {limit}),
        relaxed AS (
            SELECT c.id, ts_rank_cd(c.tsv, words.some) AS score
            FROM words, chunks c
            WHERE c.tsv @@ words.some AND {matched} AND (SELECT count(*) FROM strict) = 0
            ORDER BY score DESC, c.id LIMIT {limit})
        SELECT id, score::float8 FROM strict
        UNION ALL SELECT id, score::float8 FROM relaxed
        ORDER BY 2 DESC, 1"""


CHUNKS_BY_ID = """
    SELECT c.id, c.document_id, d.external_id, c.chunk_index, c.content, c.heading_path, c.title, c.language,
           d.path, d.metadata, c.line_start, c.line_end, c.page_start, c.page_end
    FROM unnest(%(ids)s::bigint[]) AS wanted (id)
    JOIN chunks c ON c.id = wanted.id
    JOIN documents d ON d.id = c.document_id
    WHERE {visible}
"""
