"""The port EmbeddingBacklog over the items of one kind: memories, turns, entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.ports.storage import BacklogCounts, PendingChunk
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.items.rows import ItemTables
from ragcorp.infrastructure.postgres.models.embedding_models import serving

CLAIM = """
    WITH due AS (
        SELECT item_id FROM {backlog}
        WHERE NOT failed AND available_at <= clock_timestamp() AND {serves} {narrowed}
        ORDER BY available_at, item_id
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED),
    leased AS (
        UPDATE {backlog} b
        SET available_at = clock_timestamp() + make_interval(secs => %(lease_seconds)s)
        FROM due WHERE b.item_id = due.item_id
        RETURNING b.item_id)
    SELECT i.id, i.workspace, {index_text}, i.content_hash
    FROM leased JOIN {items} i ON i.id = leased.item_id
    ORDER BY i.id
"""

LOCK_ITEMS = """
    SELECT id FROM {items} WHERE id = ANY(%(ids)s) ORDER BY workspace, external_id FOR NO KEY UPDATE
"""
"""Comes first in every write of several items, in the order in which saves and deletions lock."""

LOCK_ITEMS_WITHOUT_VECTORS = """
    SELECT i.id FROM {items} i
    WHERE NOT EXISTS (
        SELECT FROM {embeddings} e JOIN embedding_models m ON m.id = e.model_id AND m.active WHERE e.item_id = i.id)
    ORDER BY i.workspace, i.external_id
    FOR NO KEY UPDATE
"""

STORE_VECTOR = """
    WITH item AS (
        SELECT i.id, i.workspace, m.id AS model_id, m.active
        FROM {items} i JOIN embedding_models m ON m.name = %(name)s AND m.dimensions = %(dimensions)s
        WHERE i.id = %(id)s AND i.content_hash = %(content_hash)s),
    stored AS (
        INSERT INTO {embeddings} (item_id, model_id, workspace, embedding)
        SELECT id, model_id, workspace, %(embedding)s FROM item
        ON CONFLICT (item_id, model_id) DO UPDATE SET embedding = excluded.embedding)
    DELETE FROM {backlog} b USING item WHERE b.item_id = item.id AND item.active
"""
"""No vector of an item goes into the cache, where it would outlive the item."""

FAIL = """
    UPDATE {backlog} b
    SET attempts = attempts + 1, reason = %(reason)s,
        failed = attempts + 1 >= %(max_attempts)s,
        available_at = clock_timestamp() + make_interval(secs => %(delay)s * power(2, least(attempts, 10)))
    FROM unnest(%(ids)s::bigint[], %(hashes)s::bytea[]) AS refused (id, content_hash), {items} i
    WHERE b.item_id = refused.id AND i.id = refused.id AND i.content_hash = refused.content_hash
"""

RELEASE = """
    UPDATE {backlog} SET available_at = clock_timestamp() WHERE item_id = ANY(%(ids)s)
"""

ENQUEUE_MISSING = """
    INSERT INTO {backlog} AS b (item_id, workspace)
    SELECT i.id, i.workspace FROM {items} i WHERE i.id = ANY(%(ids)s)
    ON CONFLICT (item_id) DO UPDATE
        SET failed = false, attempts = 0, available_at = clock_timestamp() WHERE b.failed OR b.attempts > 0
"""

COUNTS = """
    SELECT count(*), count(*) FILTER (WHERE failed) FROM {backlog} WHERE true {narrowed}
"""

OF_WORKSPACE = "AND workspace = %(workspace)s"


class PostgresItemBacklog:
    """Items that wait for a vector, leased by pushing ``available_at`` into the future.

    They belong to no document: asked about one, there are none.
    """

    def __init__(self, *, database: Database, tables: ItemTables) -> None:
        self._database = database
        self._tables = tables

    async def claim(
        self,
        *,
        limit: int,
        lease_seconds: float,
        document_id: UUID | None = None,
        workspace: str | None = None,
        model: EmbeddingModel | None = None,
    ) -> list[PendingChunk]:
        if document_id is not None:
            return []
        serves = serving(model)
        values = serves.values | {"limit": limit, "lease_seconds": lease_seconds, "workspace": workspace}
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            cursor = await connection.execute(self._sql(CLAIM, workspace, serves=serves.sql), values)
            rows = await cursor.fetchall()
        return [
            PendingChunk(chunk_id=row[0], workspace=row[1], index_text=row[2], index_hash=bytes(row[3])) for row in rows
        ]

    async def complete(self, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        rows = [
            {
                "id": pending.chunk_id,
                "content_hash": pending.index_hash,
                "embedding": PgVector(list(vector)),
                "name": model.name,
                "dimensions": model.dimensions,
            }
            for pending, vector in vectors.items()
        ]
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(self._sql(LOCK_ITEMS), {"ids": [row["id"] for row in rows]})
            await connection.cursor().executemany(self._sql(STORE_VECTOR), rows)

    async def fail(
        self, chunks: Sequence[PendingChunk], *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None:
        values: dict[str, object] = {"reason": reason, "delay": retry_in_seconds, "max_attempts": max_attempts}
        values["hashes"] = [chunk.index_hash for chunk in chunks]
        await self._change(FAIL, [chunk.chunk_id for chunk in chunks], values)

    async def release(self, chunk_ids: Sequence[int]) -> None:
        await self._change(RELEASE, chunk_ids, {})

    async def enqueue_missing(self) -> int:
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            locked = await (await connection.execute(self._sql(LOCK_ITEMS_WITHOUT_VECTORS))).fetchall()
            cursor = await connection.execute(self._sql(ENQUEUE_MISSING), {"ids": [row[0] for row in locked]})
            return cursor.rowcount

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        if document_id is not None:
            return BacklogCounts(pending=0, failed=0)

        async def work() -> TupleRow | None:
            async with self._database.autocommit(EVERY_WORKSPACE) as connection:
                cursor = await connection.execute(self._sql(COUNTS, workspace), {"workspace": workspace})
                return await cursor.fetchone()

        row = await self._database.read(work)
        return BacklogCounts(pending=row[0], failed=row[1]) if row else BacklogCounts(pending=0, failed=0)

    async def _change(self, statement: str, ids: Sequence[int], values: dict[str, object]) -> None:
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(self._sql(LOCK_ITEMS), {"ids": list(ids)})
            await connection.execute(self._sql(statement), values | {"ids": list(ids)})

    def _sql(self, statement: str, workspace: str | None = None, *, serves: str = "") -> str:
        return statement.format(
            items=self._tables.items,
            embeddings=self._tables.embeddings,
            backlog=self._tables.backlog,
            index_text=self._tables.index_text,
            narrowed="" if workspace is None else OF_WORKSPACE,
            serves=serves,
        )
