"""The ports EmbeddingCache and EmbeddingCacheUpkeep over PostgreSQL."""

from collections.abc import Mapping, Sequence

from pgvector import Vector as PgVector

from ragcorp.domain.embeddings import CachedVectors, EmbeddingModel, Vector
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.tables.embedded import HISTORY, MEMORY

MARK_USED = """
    due AS (
        SELECT workspace, content_hash, model_id FROM embedding_cache
        WHERE (workspace, content_hash, model_id) IN (SELECT workspace, content_hash, model_id FROM cached)
        AND last_used_at < now() - interval '1 hour'
        FOR NO KEY UPDATE SKIP LOCKED),
    marked AS (
        UPDATE embedding_cache used SET last_used_at = now() FROM due
        WHERE used.workspace = due.workspace AND used.content_hash = due.content_hash AND used.model_id = due.model_id)
"""
"""Marks the rows of a query ``cached`` as used, at most once an hour each and without waiting for locks."""

OF_ITEM = """
    SELECT key, stored.embedding
    FROM unnest(%(keys)s::bytea[]) AS key
    JOIN embedding_models m ON m.name = %(name)s AND m.dimensions = %(dimensions)s
    CROSS JOIN LATERAL (
        SELECT e.embedding FROM {items} i JOIN {embeddings} e ON e.item_id = i.id AND e.model_id = m.id
        WHERE i.workspace = %(workspace)s AND i.content_hash = key LIMIT 1) AS stored
"""

CACHED = """
    WITH cached AS (
        SELECT cache.workspace, cache.content_hash, cache.model_id, cache.embedding
        FROM embedding_cache cache
        JOIN embedding_models m ON m.id = cache.model_id AND m.name = %(name)s AND m.dimensions = %(dimensions)s
        WHERE cache.workspace = %(workspace)s AND cache.content_hash = ANY(%(keys)s)),
    {mark_used}
    SELECT content_hash, embedding FROM cached
"""

CACHED_OR_STORED = " UNION ALL ".join(
    [CACHED.format(mark_used=MARK_USED), *(table.sql(OF_ITEM) for table in (MEMORY, HISTORY))]
)
"""Vectors of items are read from the items: those of a deleted item are gone."""

CACHE = """
    INSERT INTO embedding_cache (workspace, content_hash, model_id, embedding)
    SELECT %(workspace)s, %(key)s, id, %(embedding)s FROM embedding_models
    WHERE name = %(name)s AND dimensions = %(dimensions)s
    ON CONFLICT DO NOTHING
"""

STATUS = """
    SELECT m.name, m.dimensions, m.active, count(cache.model_id),
        coalesce(sum(pg_column_size(cache.embedding)), 0)::bigint, min(cache.last_used_at)
    FROM embedding_models m LEFT JOIN embedding_cache cache ON cache.model_id = m.id
    GROUP BY m.id ORDER BY m.name, m.dimensions
"""

UNUSED = """
    last_used_at <= now() - make_interval(secs => %(days)s * 86400)
    AND (%(model)s::text IS NULL OR model_id IN (SELECT id FROM embedding_models WHERE name = %(model)s))
"""

COUNT_UNUSED = f"SELECT count(*) FROM embedding_cache WHERE {UNUSED}"

PRUNE = f"""
    DELETE FROM embedding_cache WHERE (workspace, content_hash, model_id) IN (
        SELECT workspace, content_hash, model_id FROM embedding_cache
        WHERE {UNUSED}
        ORDER BY last_used_at
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED)
"""
"""Skips rows that are being marked as used, or pruned by another process."""


class PostgresEmbeddingCache:
    """The table embedding_cache; reads also find vectors of stored items, so that a text is not embedded twice."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def get(self, keys: Sequence[bytes], *, model: EmbeddingModel, workspace: str) -> dict[bytes, Vector]:
        async with self._database.autocommit(workspace) as connection:
            cursor = await connection.execute(
                CACHED_OR_STORED,
                {"keys": list(keys), "workspace": workspace, "name": model.name, "dimensions": model.dimensions},
                binary=True,
            )
            return {bytes(key): tuple(embedding.to_list()) for key, embedding in await cursor.fetchall()}

    async def put(self, vectors: Mapping[bytes, Vector], *, model: EmbeddingModel, workspace: str) -> None:
        rows = [
            {
                "workspace": workspace,
                "key": key,
                "embedding": PgVector(list(vector)),
                "name": model.name,
                "dimensions": model.dimensions,
            }
            for key, vector in sorted(vectors.items())  # writers lock in one order
        ]
        async with self._database.transaction(workspace) as connection:
            await connection.cursor().executemany(CACHE, rows)

    async def status(self) -> list[CachedVectors]:
        rows = await self._database.fetch(STATUS, workspace=EVERY_WORKSPACE)
        return [
            CachedVectors(
                model=EmbeddingModel(name=name, dimensions=dimensions),
                active=active,
                vectors=vectors,
                bytes=size,
                oldest_use=oldest_use,
            )
            for name, dimensions, active, vectors, size, oldest_use in rows
        ]

    async def count_unused(self, *, days: float, model: str | None) -> int:
        values = {"days": days, "model": model}
        ((count,),) = await self._database.fetch(COUNT_UNUSED, values, workspace=EVERY_WORKSPACE)
        return int(count)

    async def prune(self, *, days: float, model: str | None, limit: int) -> int:
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            return (await connection.execute(PRUNE, {"days": days, "model": model, "limit": limit})).rowcount
