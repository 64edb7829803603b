"""The port EmbeddingBacklog over PostgreSQL, for each kind of text that has vectors."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.documents import index_text
from ragcorp.domain.embeddings import BacklogCounts, EmbeddingModel, Vector
from ragcorp.domain.ports.storage import PendingChunk
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database, DriverConnection
from ragcorp.infrastructure.postgres.embeddings.document_vectors import refresh_document_vectors
from ragcorp.infrastructure.postgres.models.embedding_models import serving
from ragcorp.infrastructure.postgres.tables.embedded import CHUNKS, LACKS_ACTIVE_VECTOR, EmbeddedTable
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper

CLAIM = """
    WITH due AS (
        SELECT {key} FROM {backlog}
        WHERE NOT failed AND available_at <= clock_timestamp() AND {serves} {narrowed}
        ORDER BY available_at, {key}
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED),
    leased AS (
        UPDATE {backlog} b
        SET available_at = clock_timestamp() + make_interval(secs => %(lease_seconds)s)
        FROM due WHERE b.{key} = due.{key}
        RETURNING b.{key})
    SELECT i.id, i.workspace, {text}, i.content_hash
    FROM leased JOIN {items} i ON i.id = leased.{key}
    ORDER BY i.id
"""

LOCK_ITEMS_WITHOUT_VECTORS = f"""
    SELECT i.id FROM {{items}} i
    WHERE {LACKS_ACTIVE_VECTOR}
    ORDER BY i.workspace, i.external_id
    FOR NO KEY UPDATE
"""

LOCK_DOCUMENTS_WITHOUT_VECTORS = f"""
    SELECT id FROM documents
    WHERE id IN (SELECT i.document_id FROM {{items}} i WHERE {{wanted}} AND {LACKS_ACTIVE_VECTOR}) {{or_unaveraged}}
    ORDER BY workspace, external_id
    FOR NO KEY UPDATE
"""

OR_UNAVERAGED = """OR chunk_count > 0 AND NOT EXISTS (
        SELECT FROM document_embeddings e JOIN embedding_models m ON m.id = e.model_id AND m.active
        WHERE e.document_id = documents.id)"""
"""Also documents whose own vector is missing: an older version, which knew no vectors of documents, wrote them."""

STORE_VECTOR = """
    WITH item AS (
        SELECT i.id, i.workspace, i.content_hash, m.id AS model_id, m.active
        FROM {items} i JOIN embedding_models m ON m.name = %(name)s AND m.dimensions = %(dimensions)s
        WHERE i.id = %(id)s AND i.content_hash = %(content_hash)s
        FOR KEY SHARE OF i),
    stored AS (
        INSERT INTO {embeddings} ({key}, model_id, workspace, embedding)
        SELECT id, model_id, workspace, %(embedding)s FROM item
        ON CONFLICT ({key}, model_id) DO UPDATE SET embedding = excluded.embedding){cached}
    DELETE FROM {backlog} b USING item WHERE b.{key} = item.id AND item.active
"""
"""A vector of a model that is no longer active is stored, but its row keeps waiting for one of the active model."""

FAIL = """
    UPDATE {backlog} b
    SET attempts = attempts + 1, reason = %(reason)s,
        failed = attempts + 1 >= %(max_attempts)s,
        available_at = clock_timestamp() + make_interval(secs => %(delay)s * power(2, least(attempts, 10)))
    FROM unnest(%(ids)s::bigint[], %(hashes)s::bytea[]) AS refused (id, content_hash), {items} i
    WHERE b.{key} = refused.id AND i.id = refused.id AND i.content_hash = refused.content_hash
"""

RELEASE = "UPDATE {backlog} SET available_at = clock_timestamp() WHERE {key} = ANY(%(ids)s)"

ENQUEUE_MISSING = f"""
    INSERT INTO {{backlog}} AS b ({{backlog_columns}})
    SELECT {{backlog_values}} FROM {{items}} i
    WHERE i.{{group}} = ANY(%(groups)s) AND {{wanted}} AND {LACKS_ACTIVE_VECTOR}
    ON CONFLICT ({{key}}) DO UPDATE
        SET failed = false, attempts = 0, available_at = clock_timestamp() WHERE b.failed OR b.attempts > 0
"""

COUNTS = "SELECT count(*), count(*) FILTER (WHERE failed) FROM {backlog} WHERE true {narrowed}"


class PostgresEmbeddingBacklog:
    """Rows that wait for a vector, leased by moving ``available_at`` into the future.

    A text never changes under its id, except that of an item: so a vector or a failure counts only for the text that
    was claimed. Rows without a document are never part of one: narrowed to a document, their backlog is empty.
    """

    def __init__(
        self, *, database: Database, table: EmbeddedTable = CHUNKS, statistics: StatisticsKeeper | None = None
    ) -> None:
        self._database = database
        self._table = table
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
        if document_id is not None and self._table.of_document is None:
            return []
        serves = serving(model)
        values = serves.values | {"limit": limit, "lease_seconds": lease_seconds}
        values |= {"document_id": document_id, "workspace": workspace}
        statement = self._table.sql(CLAIM, serves=serves.sql, narrowed=self._narrowed(document_id, workspace))
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            return pending_texts(await (await connection.execute(statement, values)).fetchall())

    async def complete(self, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        common = {"name": model.name, "dimensions": model.dimensions}
        rows = [values | common for values in vector_rows(vectors)]
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            locked = await self._locked(connection, [row["id"] for row in rows])
            await connection.cursor().executemany(self._table.sql(STORE_VECTOR), rows)
            await self._refresh(connection, [row[0] for row in locked])
        if self._statistics is not None:
            for workspace in {row[1] for row in locked}:
                self._statistics.touch(workspace)

    async def fail(
        self, chunks: Sequence[PendingChunk], *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None:
        values: dict[str, object] = {"reason": reason, "delay": retry_in_seconds, "max_attempts": max_attempts}
        values["ids"] = [chunk.chunk_id for chunk in chunks]
        values["hashes"] = [chunk.index_hash for chunk in chunks]
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            locked = await self._locked(connection, values["ids"])
            await connection.execute(self._table.sql(FAIL), values)
            # documents no longer wait for chunks that failed too often
            await self._refresh(connection, [row[0] for row in locked])

    async def release(self, chunk_ids: Sequence[int]) -> None:
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            await self._locked(connection, list(chunk_ids))
            await connection.execute(self._table.sql(RELEASE), {"ids": list(chunk_ids)})

    async def enqueue_missing(self) -> int:
        if self._table.of_document is None:
            lock = self._table.sql(LOCK_ITEMS_WITHOUT_VECTORS)
        else:
            or_unaveraged = OR_UNAVERAGED if self._table.averaged else ""
            lock = self._table.sql(LOCK_DOCUMENTS_WITHOUT_VECTORS, or_unaveraged=or_unaveraged)
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            groups = [row[0] for row in await (await connection.execute(lock)).fetchall()]
            enqueued = (await connection.execute(self._table.sql(ENQUEUE_MISSING), {"groups": groups})).rowcount
            await self._refresh(connection, groups)
            return enqueued

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        if document_id is not None and self._table.of_document is None:
            return BacklogCounts(pending=0, failed=0)
        statement = self._table.sql(COUNTS, narrowed=self._narrowed(document_id, workspace))
        values = {"document_id": document_id, "workspace": workspace}
        ((pending, failed),) = await self._database.fetch(statement, values, workspace=EVERY_WORKSPACE)
        return BacklogCounts(pending=pending, failed=failed)

    def _narrowed(self, document_id: UUID | None, workspace: str | None) -> str:
        clauses = []
        if document_id is not None:
            clauses.append(f"AND {self._table.of_document}")
        if workspace is not None:
            clauses.append("AND workspace = %(workspace)s")
        return " ".join(clauses)

    async def _locked(self, connection: DriverConnection, ids: object) -> list[TupleRow]:
        return await (await connection.execute(self._table.lock, {"ids": ids})).fetchall()

    async def _refresh(self, connection: DriverConnection, document_ids: Sequence[UUID]) -> None:
        if self._table.averaged:
            await refresh_document_vectors(connection, document_ids)


def pending_texts(rows: Iterable[TupleRow]) -> list[PendingChunk]:
    """Read rows of id, workspace, title, heading path, content and hash."""
    return [
        PendingChunk(
            chunk_id=item_id,
            workspace=workspace,
            index_text=index_text(title=title, heading_path=tuple(heading_path), content=content),
            index_hash=bytes(content_hash),
        )
        for item_id, workspace, title, heading_path, content, content_hash in rows
    ]


def vector_rows(vectors: Mapping[PendingChunk, Vector]) -> list[dict[str, object]]:
    """Return id, hash and vector of each text, by hash: writers of equal texts lock rows of the cache in one order."""
    return [
        {"id": text.chunk_id, "content_hash": text.index_hash, "embedding": PgVector(list(vector))}
        for text, vector in sorted(vectors.items(), key=lambda entry: (entry[0].index_hash, entry[0].chunk_id))
    ]
