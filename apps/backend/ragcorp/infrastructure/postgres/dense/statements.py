"""The dense statement: the rows of one collection nearest to a vector, best first, in a total order."""

from functools import lru_cache

from ragcorp.infrastructure.postgres.connections.statement_text import single_line
from ragcorp.infrastructure.postgres.models.embedding_models import indexed_type, is_active, last_with_vector
from ragcorp.infrastructure.postgres.tables.collections import CollectionTable, Share

SCAN_SETTINGS = """
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
           set_config('hnsw.ef_search', %(ef_search)s, true),
           set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s, true),
           set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('max_parallel_workers_per_gather', '0', true),
           set_config('enable_seqscan', 'off', true),
           set_config('random_page_cost', '1.1', true)
"""
"""Settings under which the statements of this file are planned and run, for their transaction only.

Planning costs as much as the search itself, so plans are generic: the statements count rows at run time to decide what
a plan for given values would decide by statistics. Parallel workers would be launched for branches that never run.
"""

EXACT_LIMIT = """
    SELECT 20 * sqrt(greatest(reltuples, 10000))::int AS items FROM pg_class WHERE oid = '{vectors}'::regclass
"""
"""The number of vectors up to which all are compared: 2000 of 10k, 6300 of 100k, 20,000 of a million.

Among n vectors a filter that m of them pass costs m comparisons, or some 100 n / m steps through the HNSW graph to find
100 hits; a step takes about four times as long (docs/benchmarks.md), and both are equal where m is 20 times sqrt(n).
"""

SHARE_LOOK = 10_000
SHARE_SAMPLE = 2000
DOCUMENT_SAMPLE = 2000
"""Bounds of the counts for the share of rows with a vector: rows read, readable rows, and documents counted.

Rows are counted only while some wait, which takes about a millisecond.
"""


@lru_cache(maxsize=256)
def similar(
    table: CollectionTable,
    *,
    model_id: int,
    dimensions: int,
    limit: int,
    visible: str,
    filtered: str | None = None,
    matching: str | None = None,
) -> str:
    """Return the dense statement for one shape of filter.

    ``filtered`` is a condition on the table's rows; ``matching``, for chunks, the same condition on documents d, of
    which there are fewer. Where few rows pass (a small workspace, a narrow filter), all of them are compared. Else the
    HNSW index is scanned; if that ends below ``limit``, an exact scan of the same statement replaces it. A branch that
    is not needed has a one-time condition and costs nothing.

    Columns: number of rows that wait for a vector and of rows that have one (bounded counts, 0 unless some wait), key,
    cosine similarity. One row at least, without a key if nothing matches.
    """
    vectors = table.with_vectors
    vector = f"e.embedding::{indexed_type(dimensions)}"
    query = f"%(embedding)s::{indexed_type(dimensions)}"
    embedded = f"e.model_id = {model_id} AND e.workspace = %(workspace)s"
    columns = f"e.{vectors.key} AS key, {vector} <=> {query} AS distance"
    joined = f"{vectors.table} e JOIN {table.rows} ON {table.key} = e.{vectors.key}"
    source = f"SELECT {columns} FROM {joined} WHERE {embedded} AND {visible} AND {filtered or 'true'}"
    approximate = f"ORDER BY {vector} <=> {query} LIMIT {limit}"
    # + 0 keeps the planner from serving the exact order with the approximate index
    exact = f"ORDER BY ({vector} <=> {query}) + 0, e.{vectors.key} LIMIT {limit}"
    too_few = f"(SELECT count(*) FROM nearest) < {limit}"
    bounded = "LIMIT (SELECT items + 1 FROM exact_limit)"
    if filtered is None:
        passing = ""
        counted = f"SELECT FROM {vectors.table} e WHERE {embedded} {bounded}"
        everything = f"{source} AND {too_few} {exact}"
    else:
        if matching is None:
            selected = f"SELECT {table.key} AS key FROM {table.rows} WHERE {visible} AND {filtered} {bounded}"
            counted = "SELECT FROM passing"
            compared = f"passing JOIN {vectors.table} e ON e.{vectors.key} = passing.key"
        else:
            selected = f"SELECT d.id, d.chunk_count FROM documents d WHERE {matching}"
            counted = f"SELECT FROM passing, generate_series(1, passing.chunk_count) {bounded}"
            compared = (
                f"passing JOIN chunks c ON c.document_id = passing.id"
                f" JOIN {vectors.table} e ON e.{vectors.key} = {table.key}"
            )
        passing = f"passing AS MATERIALIZED ({selected}),"
        everything = f"""
            (SELECT {columns} FROM {compared} WHERE {embedded} AND (SELECT hold FROM few) {exact})
            UNION ALL
            ({source} AND NOT (SELECT hold FROM few) AND {too_few} {exact})"""
    return single_line(f"""
        WITH exact_limit AS MATERIALIZED ({EXACT_LIMIT.format(vectors=vectors.table)}),
        {passing}
        few AS MATERIALIZED (
            SELECT count(*) <= (SELECT items FROM exact_limit) AS hold FROM ({counted}) AS counted),
        nearest AS MATERIALIZED ({source} AND NOT (SELECT hold FROM few) {approximate}),
        everything AS ({everything}),
        hits AS (
            SELECT * FROM nearest WHERE NOT {too_few}
            UNION ALL SELECT * FROM everything)
        SELECT share.waiting, share.embedded, hits.key, 1 - hits.distance AS score
        FROM ({_share(table, model_id, visible)}) AS share LEFT JOIN hits ON true
        ORDER BY hits.distance, hits.key""")


@lru_cache(maxsize=256)
def as_arrays(similar: str) -> str:
    """Return a statement of ``similar`` as one row: the counts, and arrays of the keys and the scores."""
    return f"""
        SELECT max(waiting), max(embedded), array_agg(key) FILTER (WHERE key IS NOT NULL),
               array_agg(score) FILTER (WHERE key IS NOT NULL)
        FROM ({similar}) AS hits"""


def _share(table: CollectionTable, model_id: int, visible: str) -> str:
    """Return the query that counts the rows that wait for a vector and those that have one, while some wait.

    For a model that is no longer active nothing is in the backlog: its rows without a vector are those after the last
    one with such a vector, found by their id (|| '' keeps the planner from reading the whole workspace).
    """
    vectors = table.with_vectors
    active = is_active(model_id)
    if vectors.share is Share.OF_DOCUMENTS:
        return _share_of_documents(table, model_id, visible, active=active)
    key = vectors.key
    last = last_with_vector(vectors.table, key=key, model_id=model_id)
    waiting = f"""
        SELECT {key} FROM {vectors.backlog}
        WHERE workspace = %(workspace)s AND ({active} OR {key} > {last})
        UNION ALL
        SELECT newer.{key} FROM {vectors.table} newer
        WHERE newer.workspace || '' = %(workspace)s AND NOT {active} AND newer.{key} > {last}"""
    counted = ""
    if vectors.share is Share.OF_READABLE_ROWS:
        counted = f"JOIN {table.rows} ON {table.key} = looked_at.{key} WHERE {visible} LIMIT {SHARE_SAMPLE}"
    return f"""
        SELECT waiting.items AS waiting, embedded.items AS embedded
        FROM (SELECT count(*) AS items FROM (
            SELECT FROM ({waiting} LIMIT {SHARE_LOOK}) AS looked_at {counted}) w) AS waiting,
            LATERAL (SELECT count(*) AS items FROM (
                SELECT FROM (
                    SELECT e.{key} FROM {vectors.table} e
                    WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s AND waiting.items > 0
                    LIMIT {SHARE_LOOK}) AS looked_at {counted}) v) AS embedded"""


def _share_of_documents(table: CollectionTable, model_id: int, visible: str, *, active: str) -> str:
    """Count a sample of readable documents: their keys are random.

    One that waits is counted even outside the sample, unless ``SHARE_LOOK`` hidden ones wait before it.
    """
    vectors = table.with_vectors
    some_wait = f"(EXISTS (SELECT FROM {vectors.backlog} WHERE workspace = %(workspace)s) OR NOT {active})"
    return f"""
        SELECT greatest(count(*) - count(e.document_id), (EXISTS (
                   SELECT FROM (
                       SELECT document_id FROM {vectors.backlog} WHERE workspace = %(workspace)s
                       LIMIT {SHARE_LOOK}) AS w
                   JOIN {table.rows} ON {table.key} = w.document_id
                   WHERE {visible} AND NOT EXISTS (
                       SELECT FROM {vectors.table} e
                       WHERE e.document_id = w.document_id AND e.model_id = {model_id})))::int) AS waiting,
               count(e.document_id) AS embedded
        FROM (
            SELECT t.document_id FROM document_terms t WHERE t.workspace = %(workspace)s AND {some_wait}
            ORDER BY t.document_id LIMIT {DOCUMENT_SAMPLE}) AS t
        JOIN {table.rows} ON {table.key} = t.document_id AND {visible}
        LEFT JOIN {vectors.table} e ON e.document_id = t.document_id AND e.model_id = {model_id}"""
