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
from typing import Any, Self, TypeVar

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, OperationalError
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import AsyncConnection as CoreConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.errors import translate, translated

Result = TypeVar("Result")

EVERY_WORKSPACE = "*"
"""What no workspace is called: work that serves all of them (backlogs, upkeep, keys) reads and writes under it."""

DriverConnection = AsyncConnection[TupleRow]


class PooledConnection(AsyncConnection[TupleRow]):
    """A connection that SQLAlchemy cannot close while it ``is_lent``.

    A request that is cancelled at the wrong moment leaves SQLAlchemy without the connection that it was about to take
    or to give back, so it is this side that takes and returns: then nothing can be lost to the pool.
    """

    is_lent = False

    async def close(self) -> None:
        if not self.is_lent:
            await super().close()


_LENT: ContextVar[PooledConnection] = ContextVar("_LENT")


async def _lent_connection() -> PooledConnection:
    return _LENT.get()


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseOptions:
    """Sizes and times of the pool. ``statement_timeout_ms`` bounds every statement of the application role."""

    pool_size: int = 10
    pool_timeout_seconds: float = 2.0
    connect_timeout_seconds: int = 5
    statement_timeout_ms: int = 30_000


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
            reconnect_timeout=30.0,
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
            "options": f"-c statement_timeout={self._options.statement_timeout_ms} -c timezone=UTC",
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
    async def autocommit(self, workspace: str = EVERY_WORKSPACE) -> AsyncIterator[DriverConnection]:
        """A bare connection on which each statement, or each pipeline of them, is its own transaction."""
        async with self._guarded():
            # not pool.connection(): it would commit, which here costs as much as the statement's own dispatch
            connection = await self._pool.getconn()
            try:
                if not connection.autocommit:
                    await connection.set_autocommit(True)
                yield connection
            finally:
                await asyncio.shield(self._pool.putconn(connection))

    @asynccontextmanager
    async def driver_transaction(self, workspace: str = EVERY_WORKSPACE) -> AsyncIterator[DriverConnection]:
        """A bare connection in a transaction that commits at the end of the block."""
        async with self._guarded(), self._pool.connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def transaction(self, workspace: str = EVERY_WORKSPACE) -> AsyncIterator[CoreConnection]:
        """A SQLAlchemy Core connection in a transaction that commits at the end of the block."""
        async with self._guarded():
            connection = await self._pool.getconn()
            try:
                if connection.autocommit:
                    await connection.set_autocommit(False)
                connection.is_lent = True
                lent = _LENT.set(connection)
                try:
                    async with self.engine.begin() as core:
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
    async def _guarded(self) -> AsyncIterator[None]:
        """Translate errors; where a connection turns out to be lost, look at once which others are."""
        try:
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
