"""Connections: one psycopg pool, used bare on the hot path and under SQLAlchemy Core everywhere else.

Measured on loopback, a checkout with one prepared statement costs 0.2 ms of client CPU bare and 0.7 ms through
Core (docs/adr/014): so the retrieval channels speak to the driver, and the rest reads as Core.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, AsyncCursor, AsyncPipeline, OperationalError
from psycopg.abc import Params, PQGen, QueryNoTemplate
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import AsyncConnection as CoreConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.connections.errors import translate, translated
from ragcorp.infrastructure.postgres.connections.pipeline import BufferedPipeline, queue
from ragcorp.tracing import Span

Result = TypeVar("Result")

EVERY_WORKSPACE = "*"
"""What no workspace is called: work that serves all of them (backlogs, upkeep, keys) reads and writes under it."""

SET_WORKSPACE = b"SELECT set_config('ragcorp.workspace', $1, true)"
"""Whose rows the policies of migration 016 let through, until the end of the transaction. Unset: none."""


def of_every_workspace(dsn: str) -> str:
    """Return the DSN of sessions that see every workspace from their start: upkeep on connections of its own."""
    options = conninfo_to_dict(dsn).get("options") or ""
    return make_conninfo(dsn, options=f"{options} -c ragcorp.workspace={EVERY_WORKSPACE}".strip())


DriverConnection = AsyncConnection[TupleRow]


class PooledConnection(AsyncConnection[TupleRow]):
    """A connection that SQLAlchemy cannot close while it ``is_lent``, and whose statements know their ``workspace``.

    A request that is cancelled at the wrong moment leaves SQLAlchemy without the connection that it was about to take
    or to give back, so it is this side that takes and returns: then nothing can be lost to the pool.

    Without a transaction around them, every pipeline and every single statement is one of its own, and carries the
    workspace in front: in the same round trip, and gone at its end.
    """

    is_lent = False
    workspace: str | None = None
    _prepared_as: bytes | None = None
    _prepared_times = 0

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        if self._pipeline is None and not self.closed:
            self._pipeline = BufferedPipeline(self)  # which psycopg takes for one that it began, and ends
        try:
            async with super().pipeline() as pipeline:
                if self.workspace is not None:
                    self.queue_workspace(pipeline, self.workspace)
                yield pipeline
        except BaseException:
            self._prepared_as = None  # it may have failed with the rest
            raise

    def queue_workspace(self, pipeline: AsyncPipeline, workspace: str) -> None:
        """Send SET_WORKSPACE, which is prepared: parsing it costs more than running it.

        Under a new name each time, as what became of the one before may not be known.
        """
        if self._prepared_as is None:
            self._prepared_times += 1
            self._prepared_as = b"ragcorp_workspace_%d" % self._prepared_times
            queue(pipeline, partial(self.pgconn.send_prepare, self._prepared_as, SET_WORKSPACE))
        queue(pipeline, partial(self.pgconn.send_query_prepared, self._prepared_as, [workspace.encode()]))

    def _deallocate(self, name: bytes | None) -> PQGen[None]:
        if name is None:  # all of them, as psycopg does after a rollback
            self._prepared_as = None
        yield from super()._deallocate(name)

    async def execute(  # type: ignore[override]  # no templates: nothing here sends one
        self, query: QueryNoTemplate, params: Params | None = None, *, prepare: bool | None = None, binary: bool = False
    ) -> AsyncCursor[TupleRow]:
        if self.workspace is None or self._pipeline is not None:
            return await super().execute(query, params, prepare=prepare, binary=binary)
        async with self.pipeline():
            return await super().execute(query, params, prepare=prepare, binary=binary)

    async def close(self) -> None:
        if not self.is_lent:
            await super().close()


async def _begin(connection: PooledConnection, workspace: str) -> None:
    """Begin a transaction that sees the workspace, in one round trip. Whoever has the connection ends it."""
    if not connection.autocommit:  # else psycopg would begin it, and wait for the answer
        await connection.set_autocommit(True)
    async with connection.pipeline() as pipeline:
        queue(pipeline, partial(connection.pgconn.send_query_params, b"BEGIN", None))
        connection.queue_workspace(pipeline, workspace)


_LENT: ContextVar[PooledConnection] = ContextVar("_LENT")


async def _lent_connection() -> PooledConnection:
    return _LENT.get()


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseOptions:
    """Sizes and times of the pool. Statement and lock timeouts bound every statement of the application role."""

    pool_size: int = 10
    pool_timeout_seconds: float = 2.0
    connect_timeout_seconds: int = 5
    statement_timeout_ms: int = 30_000
    lock_timeout_ms: int = 5_000


RECONNECT_SECONDS = 2.0
"""How long one attempt to connect is repeated; after that the next request makes another.

The pauses between repetitions double: with a long time a server that is back could go unnoticed for half of it.
"""

WAITING_PER_CONNECTION = 100
"""A search asks for up to ten connections at once, each for some milliseconds: a burst of them waits, and for no longer
than the pool's timeout."""


class Database:
    """The pool and the engine over it. ``open`` before use, ``close`` at the end."""

    def __init__(self, dsn: str, *, options: DatabaseOptions | None = None) -> None:
        self._options = options or DatabaseOptions()
        self._dsn = dsn
        self._connect_error: OperationalError | None = None
        self._pool: AsyncConnectionPool[PooledConnection] = AsyncConnectionPool(
            dsn,
            open=False,
            min_size=1,
            max_size=self._options.pool_size,
            max_waiting=self._options.pool_size * WAITING_PER_CONNECTION,
            timeout=self._options.pool_timeout_seconds,
            connection_class=self._pooled_connection(),
            configure=self._configure,
            reconnect_timeout=RECONNECT_SECONDS,
            kwargs=self.connect_arguments(),
        )
        self.engine: AsyncEngine = create_async_engine(
            "postgresql+psycopg://", poolclass=NullPool, async_creator=_lent_connection
        )

    def connect_arguments(self) -> dict[str, Any]:
        """Return what every connection is opened with: a dead network ends in an error, not in a hang."""
        return {
            "connect_timeout": self._options.connect_timeout_seconds,
            "application_name": "ragcorp",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 20_000,
            "options": (
                f"-c statement_timeout={self._options.statement_timeout_ms} "
                f"-c lock_timeout={self._options.lock_timeout_ms} "
                f"-c idle_in_transaction_session_timeout={2 * self._options.statement_timeout_ms} -c timezone=UTC"
            ),
        }

    async def open(self) -> None:
        """Connect once to learn what is wrong, then start the pool.

        Raises ConfigurationError for a refused login or a missing database, StorageUnavailableError otherwise.
        """
        async with translated():
            connection = await AsyncConnection.connect(self._dsn, **self.connect_arguments())
            await connection.close()
        await self._pool.open(wait=False)

    async def close(self) -> None:
        await self.engine.dispose()
        if not self._pool.closed:
            await self._pool.close(timeout=5.0)

    def statistics(self) -> dict[str, int]:
        """Return the pool's counters under psycopg_pool's names."""
        return self._pool.get_stats()

    @asynccontextmanager
    async def autocommit(self, workspace: str) -> AsyncIterator[DriverConnection]:
        """A bare connection on which each ``execute``, or each pipeline of them, is its own transaction."""
        async with self._guarded("autocommit"):
            # not pool.connection(): it would commit, which here costs as much as the statement's own dispatch
            connection = await self._pool.getconn()
            try:
                if not connection.autocommit:
                    await connection.set_autocommit(True)
                connection.workspace = workspace
                yield connection
            finally:
                connection.workspace = None
                await asyncio.shield(self._pool.putconn(connection))

    @asynccontextmanager
    async def driver_transaction(self, workspace: str) -> AsyncIterator[DriverConnection]:
        """A bare connection in a transaction that commits at the end of the block."""
        async with self._guarded("driver_transaction"), self._pool.connection() as connection:
            await _begin(connection, workspace)
            yield connection

    @asynccontextmanager
    async def transaction(self, workspace: str) -> AsyncIterator[CoreConnection]:
        """A SQLAlchemy Core connection in a transaction that commits at the end of the block."""
        async with self._guarded("transaction"):
            connection = await self._pool.getconn()
            try:
                connection.is_lent = True
                lent = _LENT.set(connection)
                try:
                    async with self.engine.begin() as core:
                        await _begin(connection, workspace)  # now: SQLAlchemy's first look at the server rolls back
                        yield core
                finally:
                    _LENT.reset(lent)
            finally:
                connection.is_lent = False
                await asyncio.shield(self._pool.putconn(connection))

    async def read(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Do idempotent ``work``; once more on fresh connections if the server had dropped the pooled one."""
        try:
            return await work()
        except StorageUnavailableError as error:
            if error.reason != "connection_lost":
                raise
            return await work()

    @asynccontextmanager
    async def _guarded(self, kind: str) -> AsyncIterator[None]:
        """Trace the work and translate its errors; where a connection turns out to be lost, check the others."""
        try:
            with Span("database", kind=kind):
                async with translated():
                    yield
        except StorageUnavailableError as error:
            if error.reason == "connection_lost" and not self._pool.closed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._options.pool_timeout_seconds):
                        await self._pool.check()
            if error.reason == "pool_exhausted" and self._connect_error is not None:
                # not that others hold the connections: none can be made
                found = translate(self._connect_error)
                reason = getattr(found, "reason", "refused")
                raise StorageUnavailableError(found.message, reason=reason, remedy=found.remedy) from error
            raise

    def _pooled_connection(self) -> type[PooledConnection]:
        """Return a class of connections that leaves the outcome of the last attempt to connect with this object."""
        database = self

        class RecordingConnection(PooledConnection):
            @classmethod
            async def connect(cls, *args: Any, **kwargs: Any) -> Self:
                try:
                    connection = await super().connect(*args, **kwargs)
                except OperationalError as error:
                    database._connect_error = error
                    raise
                database._connect_error = None
                return connection

        return RecordingConnection

    async def _configure(self, connection: DriverConnection) -> None:
        # statements are known and few: prepare each at its second use, without a bound that would evict the hot ones
        connection.prepare_threshold = 1
        connection.prepared_max = 500
        await register_vector_async(connection)
        await connection.commit()
