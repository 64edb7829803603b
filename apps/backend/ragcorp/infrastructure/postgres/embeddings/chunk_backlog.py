"""The port EmbeddingBacklog over PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.documents import index_text
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.ports.storage import BacklogCounts, PendingChunk
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.document_vectors import refresh_document_vectors
from ragcorp.infrastructure.postgres.models.embedding_models import serving
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper

CLAIM = """
    WITH due AS (
        SELECT chunk_id FROM embedding_backlog
        WHERE NOT failed AND available_at <= clock_timestamp() AND {serves} {narrowed}
        ORDER BY available_at, chunk_id
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED),
    leased AS (
        UPDATE embedding_backlog b
        SET available_at = clock_timestamp() + make_interval(secs => %(lease_seconds)s)
        FROM due WHERE b.chunk_id = due.chunk_id
        RETURNING b.chunk_id)
    SELECT c.id, c.workspace, c.title, c.heading_path, c.content, c.content_hash
    FROM leased JOIN chunks c ON c.id = leased.chunk_id
    ORDER BY c.id
"""

LOCK_DOCUMENTS = """
    SELECT id, workspace FROM documents
    WHERE id IN (SELECT document_id FROM chunks WHERE id = ANY(%(chunk_ids)s))
    ORDER BY workspace, external_id
    FOR NO KEY UPDATE
"""
"""Comes first in every write of several chunks, in the order in which saves and deletions lock: so writers wait for
one another and never in a circle. Chunks that went away meanwhile are passed over."""

LOCK_DOCUMENTS_WITHOUT_VECTORS = """
    SELECT id FROM documents
    WHERE id IN (
        SELECT c.document_id FROM chunks c
        WHERE NOT EXISTS (
            SELECT 1 FROM chunk_embeddings e JOIN embedding_models m ON m.id = e.model_id AND m.active
            WHERE e.chunk_id = c.id))
    OR chunk_count > 0 AND NOT EXISTS (
        SELECT 1 FROM document_embeddings e JOIN embedding_models m ON m.id = e.model_id AND m.active
        WHERE e.document_id = documents.id)
    ORDER BY workspace, external_id
    FOR NO KEY UPDATE
"""
"""Chunks without, or documents without one of their own: those of a writer that knew of no vectors of documents."""

STORE_VECTOR = """
    WITH chunk AS (
        SELECT c.id, c.workspace, c.content_hash, m.id AS model_id, m.active
        FROM chunks c JOIN embedding_models m ON m.name = %(name)s AND m.dimensions = %(dimensions)s
        WHERE c.id = %(chunk_id)s AND c.content_hash = %(content_hash)s
        FOR KEY SHARE OF c),
    stored AS (
        INSERT INTO chunk_embeddings (chunk_id, model_id, workspace, embedding)
        SELECT id, model_id, workspace, %(embedding)s FROM chunk
        ON CONFLICT (chunk_id, model_id) DO UPDATE SET embedding = excluded.embedding),
    cached AS (
        INSERT INTO embedding_cache (workspace, content_hash, model_id, embedding)
        SELECT workspace, content_hash, model_id, %(embedding)s FROM chunk
        ON CONFLICT DO NOTHING)
    DELETE FROM embedding_backlog b USING chunk WHERE b.chunk_id = chunk.id AND chunk.active
"""
"""A vector that was made while another model was activated is stored; the chunk goes on waiting for that one's."""

FAIL = """
    UPDATE embedding_backlog
    SET attempts = attempts + 1, reason = %(reason)s,
        failed = attempts + 1 >= %(max_attempts)s,
        available_at = clock_timestamp() + make_interval(secs => %(delay)s * power(2, least(attempts, 10)))
    WHERE chunk_id = ANY(%(chunk_ids)s)
"""

RELEASE = """
    UPDATE embedding_backlog SET available_at = clock_timestamp() WHERE chunk_id = ANY(%(chunk_ids)s)
"""

ENQUEUE_MISSING = """
    INSERT INTO embedding_backlog (chunk_id, document_id, workspace)
    SELECT c.id, c.document_id, c.workspace FROM chunks c
    WHERE c.document_id = ANY(%(document_ids)s) AND NOT EXISTS (
        SELECT 1 FROM chunk_embeddings e JOIN embedding_models m ON m.id = e.model_id AND m.active
        WHERE e.chunk_id = c.id)
    ON CONFLICT (chunk_id) DO UPDATE
        SET failed = false, attempts = 0, available_at = clock_timestamp()
        WHERE embedding_backlog.failed OR embedding_backlog.attempts > 0
"""

COUNTS = """
    SELECT count(*), count(*) FILTER (WHERE failed) FROM embedding_backlog WHERE true {narrowed}
"""


def _narrowed(document_id: UUID | None, workspace: str | None) -> tuple[str, dict[str, object]]:
    values: dict[str, object] = {}
    if document_id is not None:
        values["document_id"] = document_id
    if workspace is not None:
        values["workspace"] = workspace
    return " ".join(f"AND {name} = %({name})s" for name in values), values


class PostgresEmbeddingBacklog:
    """Chunks that wait for a vector, leased by pushing ``available_at`` into the future."""

    def __init__(self, *, database: Database, statistics: StatisticsKeeper | None = None) -> None:
        self._database = database
        self._statistics = statistics

    async def claim(
        self,
        *,
        limit: int,
        lease_seconds: float,
        document_id: UUID | None = None,
        workspace: str | None = None,
        model: EmbeddingModel | None = None,
    ) -> list[PendingChunk]:
        clause, values = _narrowed(document_id, workspace)
        serves = serving(model)
        values |= serves.values | {"limit": limit, "lease_seconds": lease_seconds}
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            cursor = await connection.execute(CLAIM.format(narrowed=clause, serves=serves.sql), values)
            rows = await cursor.fetchall()
        return [
            PendingChunk(
                chunk_id=chunk_id,
                workspace=chunk_workspace,
                index_text=index_text(title=title, heading_path=tuple(heading_path), content=content),
                index_hash=bytes(content_hash),
            )
            for chunk_id, chunk_workspace, title, heading_path, content, content_hash in rows
        ]

    async def complete(self, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        rows = [
            {
                "chunk_id": chunk.chunk_id,
                "content_hash": chunk.index_hash,
                "embedding": PgVector(list(vector)),
                "name": model.name,
                "dimensions": model.dimensions,
            }
            for chunk, vector in sorted(vectors.items(), key=lambda entry: (entry[0].index_hash, entry[0].chunk_id))
        ]
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            chunk_ids = {"chunk_ids": [row["chunk_id"] for row in rows]}
            locked = await (await connection.execute(LOCK_DOCUMENTS, chunk_ids)).fetchall()
            await connection.cursor().executemany(STORE_VECTOR, rows)
            await refresh_document_vectors(connection, [row[0] for row in locked])
        if self._statistics is not None:
            for workspace in {row[1] for row in locked}:
                self._statistics.touch(workspace)

    async def fail(
        self, chunks: Sequence[PendingChunk], *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None:
        # a chunk's text never changes: another one is another chunk
        chunk_ids = [chunk.chunk_id for chunk in chunks]
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            cursor = await connection.execute(LOCK_DOCUMENTS, {"chunk_ids": chunk_ids})
            locked = await cursor.fetchall()
            await connection.execute(
                FAIL,
                {
                    "chunk_ids": chunk_ids,
                    "reason": reason,
                    "delay": retry_in_seconds,
                    "max_attempts": max_attempts,
                },
            )
            # what was given up, the documents no longer wait for
            await refresh_document_vectors(connection, [row[0] for row in locked])

    async def release(self, chunk_ids: Sequence[int]) -> None:
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(LOCK_DOCUMENTS, {"chunk_ids": list(chunk_ids)})
            await connection.execute(RELEASE, {"chunk_ids": list(chunk_ids)})

    async def enqueue_missing(self) -> int:
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            locked = await (await connection.execute(LOCK_DOCUMENTS_WITHOUT_VECTORS)).fetchall()
            document_ids = [row[0] for row in locked]
            enqueued = (await connection.execute(ENQUEUE_MISSING, {"document_ids": document_ids})).rowcount
            await refresh_document_vectors(connection, document_ids)
            return enqueued

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        clause, values = _narrowed(document_id, workspace)

        async def work() -> TupleRow | None:
            async with self._database.autocommit(EVERY_WORKSPACE) as connection:
                return await (await connection.execute(COUNTS.format(narrowed=clause), values)).fetchone()

        row = await self._database.read(work)
        return BacklogCounts(pending=row[0], failed=row[1]) if row else BacklogCounts(pending=0, failed=0)
