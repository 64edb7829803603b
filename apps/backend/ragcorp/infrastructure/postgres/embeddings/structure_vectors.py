"""The port EmbeddingBacklog over entities of documents: those of code have vectors of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.ports.storage import BacklogCounts, PendingChunk
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.models.embedding_models import serving

CLAIM = """
    WITH due AS (
        SELECT item_id FROM structural_entity_backlog
        WHERE NOT failed AND available_at <= clock_timestamp() AND {serves} {narrowed}
        ORDER BY available_at, item_id
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED),
    leased AS (
        UPDATE structural_entity_backlog b
        SET available_at = clock_timestamp() + make_interval(secs => %(lease_seconds)s)
        FROM due WHERE b.item_id = due.item_id
        RETURNING b.item_id)
    SELECT e.id, e.workspace, e.index_text, e.content_hash
    FROM leased JOIN structural_entities e ON e.id = leased.item_id
    ORDER BY e.id
"""

LOCK_DOCUMENTS = """
    SELECT id FROM documents
    WHERE id IN (SELECT document_id FROM structural_entities WHERE id = ANY(%(ids)s))
    ORDER BY workspace, external_id
    FOR NO KEY UPDATE
"""
"""Comes first in every write, as in embedding_backlog.py: entities are swapped under the lock of their document."""

LOCK_DOCUMENTS_WITHOUT_VECTORS = """
    SELECT id FROM documents
    WHERE id IN (
        SELECT e.document_id FROM structural_entities e
        WHERE e.index_text IS NOT NULL AND NOT EXISTS (
            SELECT FROM structural_entity_embeddings v JOIN embedding_models m ON m.id = v.model_id AND m.active
            WHERE v.item_id = e.id))
    ORDER BY workspace, external_id
    FOR NO KEY UPDATE
"""

STORE_VECTOR = """
    WITH entity AS (
        SELECT e.id, e.workspace, e.content_hash, m.id AS model_id, m.active
        FROM structural_entities e JOIN embedding_models m ON m.name = %(name)s AND m.dimensions = %(dimensions)s
        WHERE e.id = %(id)s AND e.content_hash = %(content_hash)s
        FOR KEY SHARE OF e),
    stored AS (
        INSERT INTO structural_entity_embeddings (item_id, model_id, workspace, embedding)
        SELECT id, model_id, workspace, %(embedding)s FROM entity
        ON CONFLICT (item_id, model_id) DO UPDATE SET embedding = excluded.embedding),
    cached AS (
        INSERT INTO embedding_cache (workspace, content_hash, model_id, embedding)
        SELECT workspace, content_hash, model_id, %(embedding)s FROM entity
        ON CONFLICT DO NOTHING)
    DELETE FROM structural_entity_backlog b USING entity WHERE b.item_id = entity.id AND entity.active
"""
"""A vector of a model that is no longer the active one leaves the entity waiting."""

FAIL = """
    UPDATE structural_entity_backlog b
    SET attempts = attempts + 1, reason = %(reason)s,
        failed = attempts + 1 >= %(max_attempts)s,
        available_at = clock_timestamp() + make_interval(secs => %(delay)s * power(2, least(attempts, 10)))
    WHERE item_id = ANY(%(ids)s)
"""

RELEASE = """
    UPDATE structural_entity_backlog SET available_at = clock_timestamp() WHERE item_id = ANY(%(ids)s)
"""

ENQUEUE_MISSING = """
    INSERT INTO structural_entity_backlog AS b (item_id, workspace)
    SELECT e.id, e.workspace FROM structural_entities e
    WHERE e.document_id = ANY(%(document_ids)s) AND e.index_text IS NOT NULL AND NOT EXISTS (
        SELECT FROM structural_entity_embeddings v JOIN embedding_models m ON m.id = v.model_id AND m.active
        WHERE v.item_id = e.id)
    ON CONFLICT (item_id) DO UPDATE
        SET failed = false, attempts = 0, available_at = clock_timestamp() WHERE b.failed OR b.attempts > 0
"""

COUNTS = """
    SELECT count(*), count(*) FILTER (WHERE failed) FROM structural_entity_backlog WHERE true {narrowed}
"""

OF_WORKSPACE = "AND workspace = %(workspace)s"
OF_DOCUMENT = "AND item_id IN (SELECT id FROM structural_entities WHERE document_id = %(document_id)s)"


class PostgresStructureVectors:
    """Entities that wait for a vector, leased by pushing ``available_at`` into the future."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def claim(
        self,
        *,
        limit: int,
        lease_seconds: float,
        document_id: UUID | None = None,
        workspace: str | None = None,
        model: EmbeddingModel | None = None,
    ) -> list[PendingChunk]:
        serves = serving(model)
        values = serves.values | {
            "limit": limit,
            "lease_seconds": lease_seconds,
            "document_id": document_id,
            "workspace": workspace,
        }
        statement = CLAIM.format(serves=serves.sql, narrowed=_narrowed(document_id, workspace))
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            cursor = await connection.execute(statement, values)
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
            # equal texts stand in many documents, and each waits for another's row of the cache: in one order
            for pending, vector in sorted(vectors.items(), key=lambda entry: (entry[0].index_hash, entry[0].chunk_id))
        ]
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(LOCK_DOCUMENTS, {"ids": [row["id"] for row in rows]})
            await connection.cursor().executemany(STORE_VECTOR, rows)

    async def fail(
        self, chunks: Sequence[PendingChunk], *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None:
        # an entity's text never changes: another one is another entity
        values = {"reason": reason, "delay": retry_in_seconds, "max_attempts": max_attempts}
        await self._change(FAIL, [chunk.chunk_id for chunk in chunks], values)

    async def release(self, chunk_ids: Sequence[int]) -> None:
        await self._change(RELEASE, chunk_ids, {})

    async def enqueue_missing(self) -> int:
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            locked = await (await connection.execute(LOCK_DOCUMENTS_WITHOUT_VECTORS)).fetchall()
            cursor = await connection.execute(ENQUEUE_MISSING, {"document_ids": [row[0] for row in locked]})
            return cursor.rowcount

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        statement = COUNTS.format(narrowed=_narrowed(document_id, workspace))
        values = {"document_id": document_id, "workspace": workspace}

        async def work() -> TupleRow | None:
            async with self._database.autocommit(EVERY_WORKSPACE) as connection:
                return await (await connection.execute(statement, values)).fetchone()

        row = await self._database.read(work)
        return BacklogCounts(pending=row[0], failed=row[1]) if row else BacklogCounts(pending=0, failed=0)

    async def _change(self, statement: str, ids: Sequence[int], values: Mapping[str, object]) -> None:
        given = {"ids": list(ids)}
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(LOCK_DOCUMENTS, given)
            await connection.execute(statement, {**values, **given})


def _narrowed(document_id: UUID | None, workspace: str | None) -> str:
    return " ".join(
        clause for clause, value in ((OF_DOCUMENT, document_id), (OF_WORKSPACE, workspace)) if value is not None
    )
