"""Connections: one psycopg pool, used bare on the hot path and under SQLAlchemy Core everywhere else.

Measured on loopback, a checkout with one prepared statement costs 0.2 ms of client CPU bare and 0.7 ms through
Core (docs/adr/014): so the retrieval channels speak to the driver, and the rest reads as Core.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import AsyncConnection as CoreConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.errors import translated

Result = TypeVar("Result")
DriverConnection = AsyncConnection[TupleRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseOptions:
    """Sizes and times of the pool. ``statement_timeout_ms`` bounds every statement of the application role."""

    pool_size: int = 10
    pool_timeout_seconds: float = 2.0
    connect_timeout_seconds: int = 5
    statement_timeout_ms: int = 30_000


class Database:
    """The pool and the engine over it. ``open`` before use, ``close`` at the end."""

    def __init__(self, dsn: str, *, options: DatabaseOptions | None = None) -> None:
        self._options = options or DatabaseOptions()
        self._dsn = dsn
        self._pool: AsyncConnectionPool[DriverConnection] = AsyncConnectionPool(
            dsn,
            open=False,
            min_size=1,
            max_size=self._options.pool_size,
            max_waiting=self._options.pool_size * 10,
            timeout=self._options.pool_timeout_seconds,
            close_returns=True,
            configure=self._configure,
            reset=self._reset,
            reconnect_timeout=30.0,
            kwargs=self.connect_arguments(),
        )
        self.engine: AsyncEngine = create_async_engine(
            "postgresql+psycopg://", poolclass=NullPool, async_creator=self._pool.getconn
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
    async def autocommit(self) -> AsyncIterator[DriverConnection]:
        """A bare connection on which each statement is its own transaction, in one round trip."""
        async with translated(), self._pool.connection() as connection:
            await connection.set_autocommit(True)
            yield connection

    @asynccontextmanager
    async def driver_transaction(self) -> AsyncIterator[DriverConnection]:
        """A bare connection in a transaction that commits at the end of the block."""
        async with translated(), self._pool.connection() as connection:
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[CoreConnection]:
        """A SQLAlchemy Core connection in a transaction that commits at the end of the block."""
        async with translated(), self.engine.begin() as connection:
            yield connection

    async def read(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Do idempotent ``work``; once more on fresh connections if the server had dropped the pooled one."""
        try:
            return await work()
        except StorageUnavailableError as error:
            if error.reason != "connection_lost":
                raise
            await self.discard_dead_connections()
            return await work()

    async def discard_dead_connections(self) -> None:
        async with asyncio.timeout(self._options.pool_timeout_seconds):
            await self._pool.check()

    async def _configure(self, connection: DriverConnection) -> None:
        # statements are known and few: prepare each at its second use, without a bound that would evict the hot ones
        connection.prepare_threshold = 1
        connection.prepared_max = 500
        await register_vector_async(connection)
        await connection.commit()

    async def _reset(self, connection: DriverConnection) -> None:
        if connection.autocommit:
            await connection.set_autocommit(False)
