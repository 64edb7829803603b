"""The port Reembedding over PostgreSQL, as the owner of the schema."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import ConfigurationError, ConflictError, NotFoundError, StorageUnavailableError
from ragcorp.domain.ports.embeddings import ModelState, Rejected
from ragcorp.domain.ports.storage import PendingChunk
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database, DriverConnection
from ragcorp.infrastructure.postgres.connections.errors import translated
from ragcorp.infrastructure.postgres.dense.similarity_scores import STORE_MEAN_OF_MODEL
from ragcorp.infrastructure.postgres.embeddings import reembedding_statements as statements
from ragcorp.infrastructure.postgres.embeddings.backlog import pending_texts, vector_rows
from ragcorp.infrastructure.postgres.embeddings.document_vectors import REFRESH_OF_MODEL
from ragcorp.infrastructure.postgres.models.embedding_models import (
    MEASURED,
    VECTOR_TABLES,
    measured_thresholds,
    require_width,
    vector_index,
)
from ragcorp.infrastructure.postgres.tables.embedded import EMBEDDED

ADVISORY_LOCK = 7_246_725_368
"""An arbitrary constant, different from the migrations'."""

DOCUMENTS_AT_ONCE = 200

LONGEST_WRITE = timedelta(hours=1)
"""``updated_at`` is the start of a write, which may commit this much later."""

ATTEMPTS = 240
RETRY_SECONDS = 0.5
"""Number and spacing of the attempts of a switch to get its locks. Each blocks writers for at most half a second, or
not at all while a VACUUM runs."""


class PostgresReembedding:
    """Works as the owner of the schema, with a long statement timeout; tries ``attempts`` times to lock out writers."""

    kinds: Sequence[str] = tuple(EMBEDDED)

    def __init__(
        self, *, database: Database, dsn: str, attempts: int = ATTEMPTS, retry_seconds: float = RETRY_SECONDS
    ) -> None:
        self._database = database
        self._dsn = dsn
        self._attempts = attempts
        self._retry_seconds = retry_seconds
        self._refreshed_at: dict[EmbeddingModel, datetime] = {}

    @asynccontextmanager
    async def exclusively(self) -> AsyncIterator[None]:
        async with self._connection() as guard:
            if not await _value(guard, statements.MAY_CHANGE):
                raise ConfigurationError(
                    "Only the owner of the tables may change the embedding model: the change creates indexes.",
                    field="DATABASE_OWNER_URL",
                    remedy="Set DATABASE_OWNER_URL to the DSN that `ragcorp migrate` uses.",
                )
            if not await _value(guard, f"SELECT pg_try_advisory_lock({ADVISORY_LOCK})"):
                raise ConflictError(
                    "Another process is changing the embedding model of this database.",
                    remedy="Wait for it, or stop it; `ragcorp reembed --status` shows its progress.",
                )
            yield

    async def models(self) -> list[ModelState]:
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            rows = await (await connection.execute(statements.MODELS)).fetchall()
            states = []
            for model_id, name, dimensions, active in rows:
                wanted, missing = await _counted(connection, model_id)
                valid = await _valid_indexes(connection, model_id)
                states.append(
                    ModelState(
                        model=EmbeddingModel(name=name, dimensions=dimensions),
                        active=active,
                        vectors=wanted - missing,
                        missing=missing,
                        indexes=sum(valid.values()),
                        all_indexes=len(VECTOR_TABLES),
                    )
                )
        return states

    async def active(self) -> EmbeddingModel | None:
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            row = await (await connection.execute(statements.ACTIVE)).fetchone()
        return EmbeddingModel(name=row[0], dimensions=row[1]) if row else None

    async def register(self, model: EmbeddingModel) -> None:
        require_width(model.dimensions, field="--dimensions")
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(statements.REGISTER, _named(model))
            for column in MEASURED:
                for statement, values in measured_thresholds(column):
                    await connection.execute(statement, values)

    async def count(self, model: EmbeddingModel) -> tuple[int, int]:
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            return await _counted(connection, await _id(connection, model))

    async def missing(self, kind: str, *, model: EmbeddingModel, after: int, limit: int) -> list[PendingChunk]:
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            values = {"model_id": await _id(connection, model), "after": after, "limit": limit}
            cursor = await connection.execute(EMBEDDED[kind].sql(statements.MISSING), values)
            return pending_texts(await cursor.fetchall())

    async def store(self, kind: str, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        table = EMBEDDED[kind]
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            model_id = await _id(connection, model)
            rows = [values | {"model_id": model_id} for values in vector_rows(vectors)]
            await connection.execute(table.lock, {"ids": [row["id"] for row in rows]})
            await connection.cursor().executemany(table.sql(statements.STORE), rows)

    async def refresh(self, model: EmbeddingModel, *, rejected: Rejected) -> None:
        """The first call goes through all documents, later ones through those written since."""
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            model_id = await _id(connection, model)
            started_at = await _value(connection, statements.NOW)
        values = {"model_id": model_id, "since": self._since(model), "rejected": list(rejected.get("chunks", {}))}
        after = UUID(int=0)
        while True:
            async with self._database.transaction(EVERY_WORKSPACE) as connection:
                document_ids = await _documents(connection, values, after=after)
                if not document_ids:
                    break
                after = document_ids[-1]
                await connection.execute(statements.LOCK_THESE_DOCUMENTS, {"document_ids": document_ids})
                await connection.execute(REFRESH_OF_MODEL, values | {"document_ids": document_ids})
        self._refreshed_at[model] = started_at
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            rows = await (await connection.execute(statements.WORKSPACES, values)).fetchall()
            for (workspace,) in rows:
                await connection.execute(STORE_MEAN_OF_MODEL, {"model_id": model_id, "workspace": workspace})

    async def build_indexes(self, model: EmbeddingModel, *, report: Callable[[int, int], None]) -> None:
        async with self._connection() as connection:
            model_id = await _id(connection, model)
            valid = await _valid_indexes(connection, model_id)
            for done, (table, name) in enumerate(statements.index_names(model_id).items()):
                report(done, len(VECTOR_TABLES))
                if not valid.get(name, False):
                    definition = vector_index(table, model_id=model_id, dimensions=model.dimensions)
                    await connection.execute(_drop(name))
                    await connection.execute(f'CREATE INDEX CONCURRENTLY "{name}" {definition}')
            report(len(VECTOR_TABLES), len(VECTOR_TABLES))

    async def activate(self, model: EmbeddingModel, *, rejected: Rejected) -> None:
        for _ in range(self._attempts):
            try:
                return await self._activate(model, rejected)
            except StorageUnavailableError as error:
                if error.reason != "timeout":
                    raise
            except ConflictError:  # a deadlock, if deadlock_timeout is lower than this lock_timeout
                pass
            await asyncio.sleep(self._retry_seconds)
        raise StorageUnavailableError(
            "The switch did not get its locks: a VACUUM or ANALYZE, or a writing transaction, kept them. Nothing was "
            "switched; the vectors are kept.",
            reason="locked",
            remedy="Run the same command again. pg_stat_activity shows the lock holder: a VACUUM, or the oldest "
            "xact_start.",
        )

    async def drop_indexes(self, model: EmbeddingModel) -> None:
        async with self._connection() as connection:
            for name in statements.index_names(await _id(connection, model)).values():
                await connection.execute(_drop(name))

    async def delete_vectors(self, model: EmbeddingModel, *, limit: int) -> int:
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            values = {"model_id": await _id(connection, model), "limit": limit}
            for table in statements.KEPT_OF_A_MODEL:
                gone = (await connection.execute(statements.DELETE_SOME.format(table=table), values)).rowcount
                if gone:
                    return gone
        return 0

    async def _activate(self, model: EmbeddingModel, rejected: Rejected) -> None:
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(statements.BEGIN_CHANGE)
            await connection.execute(statements.LOCK_MAINTENANCE)
            await connection.execute(statements.LOWER_LOCK_TIMEOUT)
            await connection.execute(statements.LOCK_WRITERS)
            values: dict[str, object] = {"model_id": await _id(connection, model)}
            for kind, table in EMBEDDED.items():
                await connection.execute(table.sql(statements.DONE), values)
                await connection.execute(table.sql(statements.LIST_MISSING), values)
                refused = rejected.get(kind, {})
                listed = {"ids": list(refused), "hashes": list(refused.values())}
                await connection.execute(table.sql(statements.LIST_REJECTED), listed)
            # documents written since the last refresh; writers are locked out now
            values |= {"since": self._since(model), "rejected": list(rejected.get("chunks", {}))}
            after = UUID(int=0)
            while document_ids := await _documents(connection, values, after=after):
                after = document_ids[-1]
                await connection.execute(REFRESH_OF_MODEL, values | {"document_ids": document_ids})
            await connection.execute(statements.DEACTIVATE)
            await connection.execute(statements.ACTIVATE, values)

    def _since(self, model: EmbeddingModel) -> datetime | None:
        refreshed_at = self._refreshed_at.get(model)
        return refreshed_at - LONGEST_WRITE if refreshed_at else None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[DriverConnection]:
        """A separate connection for long statements; the server notices within seconds if this process dies."""
        options = "-c statement_timeout=0 -c client_connection_check_interval=2000"
        arguments = self._database.connect_arguments() | {"options": options}
        async with translated(), await AsyncConnection.connect(self._dsn, autocommit=True, **arguments) as connection:
            yield connection


def _drop(name: str) -> str:
    return f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"'


def _named(model: EmbeddingModel) -> dict[str, object]:
    return {"name": model.name, "dimensions": model.dimensions}


async def _value(connection: DriverConnection, statement: str) -> Any:
    row: TupleRow | None = await (await connection.execute(statement)).fetchone()
    return row[0] if row else None


async def _id(connection: DriverConnection, model: EmbeddingModel) -> int:
    row = await (await connection.execute(statements.MODEL_ID, _named(model))).fetchone()
    if row is None:
        raise NotFoundError(
            "The database has no such embedding model.",
            field="--model",
            remedy="`ragcorp reembed --status` lists the models with vectors.",
        )
    return int(row[0])


async def _counted(connection: DriverConnection, model_id: int) -> tuple[int, int]:
    wanted = missing = 0
    for table in EMBEDDED.values():
        row = await (await connection.execute(table.sql(statements.COUNT), {"model_id": model_id})).fetchone()
        if row is not None:
            wanted, missing = wanted + row[0], missing + row[1]
    return wanted, missing


async def _valid_indexes(connection: DriverConnection, model_id: int) -> dict[str, bool]:
    names = list(statements.index_names(model_id).values())
    rows = await (await connection.execute(statements.INDEXES, {"names": names})).fetchall()
    return dict(rows)


async def _documents(connection: DriverConnection, values: Mapping[str, object], *, after: UUID) -> list[UUID]:
    page = {**values, "after": after, "limit": DOCUMENTS_AT_ONCE}
    return [row[0] for row in await (await connection.execute(statements.DOCUMENTS, page)).fetchall()]
