"""The SQL that reads candidates by key: one statement over several collections.

Values: those of visibility, and for the n-th collection the arrays ``numbers_<n>`` and ``keys_<n>``: each key with its
number in the pool.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from ragcorp.infrastructure.postgres.connections.statement_text import single_line
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACT_CHUNKS, CollectionTable

SETTINGS = """
    SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('max_parallel_workers_per_gather', '0', true),
           set_config('enable_seqscan', 'off', true),
           set_config('jit', 'off', true)
"""
"""Settings for the transaction of these statements only: they read few keys, each through its index."""

Tables = tuple[tuple[CollectionTable, str], ...]
"""The tables to read, each with the condition for a readable row."""


@lru_cache(maxsize=256)
def described(tables: Tables) -> str:
    """Columns: number, kind, workspace, sensitivity, scope, owner, language, artifact, occurred_at, ages_from."""
    return _union(
        tables,
        lambda table: (
            f"{table.alias}.artifact_type, {table.alias}.workspace, {table.alias}.sensitivity,"
            f" {table.alias}.visibility_scope, {table.alias}.owner, {table.alias}.language, {table.artifact},"
            f" {table.alias}.occurred_at, {table.ages_from or f'{table.alias}.occurred_at'}"
        ),
    )


@lru_cache(maxsize=256)
def passages(tables: Tables) -> str:
    """Columns: number, then PASSAGE_COLUMNS."""
    return _union(tables, lambda table: table.passage)


@lru_cache(maxsize=256)
def features(tables: Tables, *, model_id: int, dimensions: int) -> str:
    """Columns: number, number of another or null, their cosine or null, lexemes or null.

    Pairs in which both have a vector come with their cosine. If one of the pool has none, the lexemes of all follow,
    since it forms a pair with each.
    """
    vector = f"vector({dimensions})"

    def embedding(table: CollectionTable) -> str:
        if table.vectors is None:
            return f"NULL::{vector} AS embedding"
        of_item = f"{table.vectors.key} = {table.key} AND model_id = {model_id}"
        return f"(SELECT embedding::{vector} FROM {table.vectors.table} WHERE {of_item}) AS embedding"

    def lexemes(table: CollectionTable) -> str:
        return f"NULL::integer, NULL::float8, tsvector_to_array({table.lexemes})"

    return single_line(f"""
        WITH pool AS MATERIALIZED ({_union(tables, embedding)}),
        mixed AS MATERIALIZED (
            SELECT count(*) > 1 AND count(*) > count(embedding) AS hold FROM pool)
        SELECT a.number, b.number, 1 - (a.embedding <=> b.embedding), NULL::text[]
        FROM pool a JOIN pool b ON a.number < b.number
        WHERE a.embedding IS NOT NULL AND b.embedding IS NOT NULL
        UNION ALL {_union(tables, lexemes, "(SELECT hold FROM mixed)")}""")


@lru_cache(maxsize=64)
def neighbours(visible: str) -> str:
    """Return the chunks up to ``distance`` from the positions. Columns: chunk id, then PASSAGE_COLUMNS."""
    return single_line(f"""
        SELECT {ARTIFACT_CHUNKS.key}, {ARTIFACT_CHUNKS.passage}
        FROM (
            SELECT DISTINCT document_id, near AS chunk_index
            FROM unnest(%(document_ids)s::uuid[], %(indexes)s::bigint[]) AS centre (document_id, chunk_index),
                 generate_series(centre.chunk_index - %(distance)s::int, centre.chunk_index + %(distance)s::int) AS near
            WHERE near >= 0) AS wanted
        CROSS JOIN LATERAL (
            SELECT * FROM chunks
            WHERE document_id = wanted.document_id AND chunk_index = wanted.chunk_index OFFSET 0) AS c
        JOIN documents d ON d.id = c.document_id
        WHERE {visible}""")


def _union(tables: Tables, columns: Callable[[CollectionTable], str], condition: str = "true") -> str:
    branches: Sequence[str] = [
        f"SELECT wanted.number, {columns(table)}"
        f" FROM {table.rows}"
        f" JOIN unnest(%(numbers_{n})s::integer[], %(keys_{n})s::{table.key_type}[]) AS wanted (number, key)"
        f" ON wanted.key = {table.key} WHERE {visible} AND {condition}"
        for n, (table, visible) in enumerate(tables)
    ]
    return single_line(" UNION ALL ".join(branches))
