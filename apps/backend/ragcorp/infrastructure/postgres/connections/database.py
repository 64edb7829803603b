"""Connections: one psycopg pool.

Measured on loopback, a checkout with one prepared statement costs 0.2 ms of client CPU (docs/adr/014).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, AsyncCursor, AsyncPipeline, OperationalError
from psycopg.abc import Params, PQGen, QueryNoTemplate
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import _WaitTimeout
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.connections.errors import translate, translated
from ragcorp.infrastructure.postgres.connections.pipeline import BufferedPipeline, queue
from ragcorp.infrastructure.postgres.connections.statement_text import Statement, execute, positional
from ragcorp.tracing import Span

Result = TypeVar("Result")

EVERY_WORKSPACE = "*"
"""The setting, no workspace's name, under which work for all workspaces runs: backlogs, upkeep, keys."""

SET_WORKSPACE = "SELECT set_config('ragcorp.workspace', %(workspace)s, true)"
"""The workspace whose rows the policies of migration 016 admit, until the end of the transaction. Unset: none."""


def of_every_workspace(dsn: str) -> str:
    """Return the DSN of sessions that see every workspace: for upkeep outside the pool."""
    options = conninfo_to_dict(dsn).get("options") or ""
    return make_conninfo(dsn, options=f"{options} -c ragcorp.workspace={EVERY_WORKSPACE}".strip())


DriverConnection = AsyncConnection[TupleRow]


class PooledConnection(AsyncConnection[TupleRow]):
    """A connection whose statements see the rows of its ``workspace`` only.

    Outside a transaction each pipeline and each single statement is a transaction of its own. The setting of the
    workspace goes first, in the same round trip, and ends with that transaction.
    """

    workspace: str | None = None
    reply_seconds: float | None = None
    """How long a reply is waited for; None without bound. Then the connection is closed: a damaged reply never ends."""
    _prepared_times = 0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._settings: dict[str, bytes] = {}

    async def wait(
        self,
        gen: PQGen[Result],
        interval: float = 0.1,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's
    ) -> Result:
        if timeout is not None or self.reply_seconds is None:
            return await super().wait(gen, interval, timeout)
        try:
            return await super().wait(gen, interval, self.reply_seconds)
        except _WaitTimeout:
            self.pgconn.finish()
            raise OperationalError("the server did not reply in time") from None

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        if self._pipeline is None and not self.closed:
            self._pipeline = BufferedPipeline(self)  # psycopg treats it as its own, and ends it
        try:
            async with super().pipeline() as pipeline:
                if self.workspace is not None:
                    self.queue_workspace(pipeline, self.workspace)
                yield pipeline
        except BaseException:
            self._settings.clear()  # their preparation may have failed too
            raise

    def queue_workspace(self, pipeline: AsyncPipeline, workspace: str) -> None:
        self._queue_settings(pipeline, SET_WORKSPACE, {"workspace": workspace})

    def _queue_settings(self, pipeline: AsyncPipeline, statement: str, values: Mapping[str, object]) -> None:
        """Send a statement whose rows nobody reads, prepared: to parse ``set_config`` costs more than to run it.

        Each preparation has a new name, since the state of an earlier one may be unknown.
        """
        text, names = positional(statement)
        prepared = self._settings.get(statement)
        if prepared is None:
            self._prepared_times += 1
            prepared = self._settings[statement] = b"ragcorp_settings_%d" % self._prepared_times
            queue(pipeline, partial(self.pgconn.send_prepare, prepared, text.encode()))
        encoded = [str(values[name]).encode() for name in names]
        queue(pipeline, partial(self.pgconn.send_query_prepared, prepared, encoded))

    async def fetch_together(
        self, statements: Sequence[Statement], *, settings: Statement | None = None
    ) -> list[list[TupleRow]]:
        """Return the rows of each statement, from one round trip and one transaction, for which ``settings`` hold."""
        async with self.pipeline() as pipeline:
            if settings is not None:
                self._queue_settings(pipeline, *settings)
            cursors = [await execute(self, *statement) for statement in statements]
        return [await cursor.fetchall() for cursor in cursors]

    def _deallocate(self, name: bytes | None) -> PQGen[None]:
        if name is None:  # all statements, as psycopg does after a rollback
            self._settings.clear()
        yield from super()._deallocate(name)

    async def execute(  # type: ignore[override]  # no templates: nothing here sends one
        self, query: QueryNoTemplate, params: Params | None = None, *, prepare: bool | None = None, binary: bool = False
    ) -> AsyncCursor[TupleRow]:
        if self.workspace is None or self._pipeline is not None:
            return await super().execute(query, params, prepare=prepare, binary=binary)
        async with self.pipeline():
            return await super().execute(query, params, prepare=prepare, binary=binary)


async def _begin(connection: PooledConnection, workspace: str) -> None:
    """Begin a transaction that sees the workspace, in one round trip. The caller ends it."""
    if not connection.autocommit:  # else psycopg would begin the transaction in a round trip of its own
        await connection.set_autocommit(True)
    async with connection.pipeline() as pipeline:
        queue(pipeline, partial(connection.pgconn.send_query_params, b"BEGIN", None))
        connection.queue_workspace(pipeline, workspace)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseOptions:
    """Sizes and times of the pool. Statement and lock timeouts bound every statement of the application role."""

    pool_size: int = 10
    pool_timeout_seconds: float = 2.0
    connect_timeout_seconds: int = 5
    statement_timeout_ms: int = 30_000
    lock_timeout_ms: int = 5_000


REPLY_GRACE_SECONDS = 5.0
"""How much longer than the statement timeout a reply of autocommitted statements may take."""

RECONNECT_SECONDS = 2.0
"""How long a failed connection is retried; after that the next request tries again.

Pauses between retries double: with a longer time a recovered server could go unnoticed for half of it.
"""

WAITING_PER_CONNECTION = 100
"""Queued requests per connection. A search takes up to ten connections, each for some milliseconds: bursts queue, at
most for the pool's timeout."""


class Database:
    """The connection pool. ``open`` it before use, ``close`` it at the end."""

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

    def connect_arguments(self) -> dict[str, Any]:
        """Return the arguments of every connection; with them a dead network causes an error, not a hang."""
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
        """Connect once to report errors, then start the pool.

        Raises ConfigurationError for a refused login or a missing database, StorageUnavailableError otherwise.
        """
        async with translated():
            connection = await AsyncConnection.connect(self._dsn, **self.connect_arguments())
            await connection.close()
        await self._pool.open(wait=False)

    async def close(self) -> None:
        if not self._pool.closed:
            await self._pool.close(timeout=5.0)

    def statistics(self) -> dict[str, int]:
        """Return the pool's counters under psycopg_pool's names."""
        return self._pool.get_stats()

    @asynccontextmanager
    async def autocommit(self, workspace: str) -> AsyncIterator[PooledConnection]:
        """A connection on which each ``execute``, or each pipeline, is a transaction of its own."""
        async with self._guarded("autocommit"):
            # not pool.connection(): its commit would cost as much as sending the statement
            connection = await self._pool.getconn()
            try:
                if not connection.autocommit:
                    await connection.set_autocommit(True)
                connection.workspace = workspace
                connection.reply_seconds = self._options.statement_timeout_ms / 1000 + REPLY_GRACE_SECONDS
                yield connection
            finally:
                connection.workspace = connection.reply_seconds = None
                await asyncio.shield(self._pool.putconn(connection))

    @asynccontextmanager
    async def transaction(self, workspace: str) -> AsyncIterator[DriverConnection]:
        """A connection in a transaction that commits at the end of the block."""
        async with self._guarded("transaction"), self._pool.connection() as connection:
            await _begin(connection, workspace)
            yield connection

    async def fetch(
        self,
        statement: str,
        values: Mapping[str, object] | None = None,
        *,
        workspace: str,
        settings: str | None = None,
        setting_values: Mapping[str, object] | None = None,
    ) -> list[TupleRow]:
        """Return the rows of a statement that only reads, repeated as ``read`` does.

        ``settings`` is a statement that sets what applies to this transaction; it travels in the same round trip.
        """
        before = None if settings is None else (settings, setting_values or {})
        (rows,) = await self.fetch_together([(statement, values or {})], workspace=workspace, settings=before)
        return rows

    async def fetch_together(
        self, statements: Sequence[Statement], *, workspace: str, settings: Statement | None = None
    ) -> list[list[TupleRow]]:
        """Return the rows of statements that only read, in one round trip, repeated as ``read`` does."""

        async def work() -> list[list[TupleRow]]:
            async with self.autocommit(workspace) as connection:
                return await connection.fetch_together(statements, settings=settings)

        return await self.read(work)

    async def read(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run idempotent ``work``, and again on a fresh connection if the pooled one was lost."""
        try:
            return await work()
        except StorageUnavailableError as error:
            if error.reason != "connection_lost":
                raise
            return await work()

    @asynccontextmanager
    async def _guarded(self, kind: str) -> AsyncIterator[None]:
        """Trace the work and translate its errors; where a connection turns out to be lost, replace the others too."""
        try:
            with Span("database", kind=kind):
                async with translated():
                    yield
        except StorageUnavailableError as error:
            if error.reason == "connection_lost" and not self._pool.closed:
                await self._pool.drain()  # not check(): if it is cancelled, the connections that it looks at are lost
            if error.reason == "pool_exhausted" and self._connect_error is not None:
                # the pool is empty because connecting fails
                cause = translate(self._connect_error)
                reason = getattr(cause, "reason", "refused")
                raise StorageUnavailableError(cause.message, reason=reason, remedy=cause.remedy) from error
            raise

    def _pooled_connection(self) -> type[PooledConnection]:
        """Return a connection class that records the outcome of the last attempt to connect in this object."""
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
        # statements are few: prepare each at its second use, with a bound too high to evict hot ones
        connection.prepare_threshold = 1
        connection.prepared_max = 500
        await register_vector_async(connection)
        await connection.commit()
