"""Runs the service: binds the port first and shuts down cleanly."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread
import uvicorn

from ragcorp.domain.exceptions import ConfigurationError, ConflictError
from ragcorp.infrastructure.postgres.administration.inspection import role_is_bound
from ragcorp.infrastructure.postgres.administration.row_level_security import is_off
from ragcorp.interface.cli.console.services import OnListening, RunningService, ServeOptions, Target
from ragcorp.interface.http.layers.cors import ANY
from ragcorp.interface.http.layers.stopping import Stopping
from ragcorp.main.opening.sessions import open_prepared, session_of
from ragcorp.main.service.app import http_limits, run_app
from ragcorp.main.service.http_protocol import cutting_protocol
from ragcorp.main.service.logs import service_logs
from ragcorp.main.service.shutdown import CANCELLING_SHARE, FINISHING_SHARE, Shutdown
from ragcorp.main.settings.addresses import access_over, address_of, is_loopback
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.container import Container

if TYPE_CHECKING:
    from ragcorp.interface.mcp.endpoint import McpEndpoint

BACKLOG = 2048

HURRIED_SECONDS = 0.5
"""Time of each shutdown step after a second signal."""

UNBOUND_ROLE = (
    "the database role of DATABASE_URL passes over row-level security, so that nothing but this program's own "
    "conditions keeps workspaces apart: use a role that is neither a superuser nor has BYPASSRLS. Once a key exists, "
    "the service does not start with this one"
)
ANY_ORIGIN_WITHOUT_KEY = (
    "CORS_ORIGINS is * and no key exists: pages of other origins are refused until one does, as whoever opens such a "
    "page in a browser here would let it do everything. Make a key with `ragcorp keys create`, or name the origins"
)

ROW_LEVEL_SECURITY_IS_OFF = (
    "row-level security is off: conditions of the statements alone keep workspaces apart"
    " (`ragcorp migrate --row-level-security on` turns it on)"
)

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_service(target: Target, options: ServeOptions) -> AsyncIterator[RunningService]:
    """Bind the port, then open the storage; ``run`` of the yielded service serves until it is cancelled.

    Raises ConflictError for a port in use, ConfigurationError for an address that needs a key if there is none.
    """
    settings = settings_for(target, host=options.host, port=options.port)
    with (
        listening_socket(settings.host, settings.port) as listener,
        service_logs(settings, target),
        Shutdown(settings.shutdown_grace_seconds) as ending,
    ):
        async with open_prepared(settings) as container:
            run = partial(serve_container, container, listener, shutdown=ending)
            access = await access_over(listener, container.authenticator.any_exists)
            await require_bound_role(settings, listener, container.authenticator.any_exists)
            await warn_of_any_origin(settings, container.authenticator.any_exists)
            if await is_off(container.database):
                logger.warning(ROW_LEVEL_SECURITY_IS_OFF)
            yield RunningService(session=session_of(container), run=run, hurry=ending.hurry, access=access)


async def require_bound_role(
    settings: Settings, listener: socket.socket, any_key_exists: Callable[[], Awaitable[bool]]
) -> None:
    """Raise ConfigurationError if a service with keys, or on a network, has a role that bypasses row-level security."""
    if settings.database_url is None:
        return
    dsn = settings.database_url.get_secret_value().replace("postgresql+psycopg://", "postgresql://", 1)
    if await anyio.to_thread.run_sync(role_is_bound, dsn):
        return
    if is_loopback(listener.getsockname()[0]) and not await any_key_exists():
        logger.warning(UNBOUND_ROLE)
        return
    raise ConfigurationError(
        "With keys, or on a network, the database role must not pass over row-level security.",
        field="DATABASE_URL",
        remedy="Use a role that is neither a superuser nor has BYPASSRLS; docs/operations.md names its rights.",
    )


async def warn_of_any_origin(settings: Settings, any_key_exists: Callable[[], Awaitable[bool]]) -> None:
    if http_limits(settings).cors_origins == (ANY,) and not await any_key_exists():
        logger.warning(ANY_ORIGIN_WITHOUT_KEY)


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on the address before the service is ready: early clients wait, and no other program takes the port."""
    family, address = address_of(host)
    both = address == "::" and socket.has_dualstack_ipv6()
    try:
        listener = socket.create_server((address, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        raise _bind_error(error, port) from error
    with listener:
        # asyncio sets it on its own sockets only; without it responses on kept connections wait 40 ms
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


async def serve_container(
    container: Container, listener: socket.socket, on_listening: OnListening, *, shutdown: Shutdown | None = None
) -> None:
    """Serve until cancelled, then end open requests and return: the cancellation is the normal end of a service."""
    async with run_app(container) as app:
        config = uvicorn.Config(
            app,
            http=cutting_protocol(container.settings.write_timeout_seconds),
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
        )
        server = _Server(config, lambda: on_listening(_url(listener)))
        serving = asyncio.create_task(server.serve([listener]), name="uvicorn")
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            ending = shutdown or Shutdown(container.settings.shutdown_grace_seconds)
            if shutdown is not None:
                shutdown.begin()
            app.state.stopping.begin()
            server.should_exit = True
            sessions = asyncio.create_task(_end_sessions(app.state.mcp, app.state.stopping), name="end of MCP sessions")
            await _end(serving, server, app.state.stopping, ending)
            await asyncio.wait({sessions}, timeout=HURRIED_SECONDS)


class _Server(uvicorn.Server):
    """Leaves signals to the command line, which also stops everything else; calls back when it listens."""

    def __init__(self, config: uvicorn.Config, on_listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_listening = on_listening

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_listening()


async def _end_sessions(endpoint: McpEndpoint | None, stopping: Stopping) -> None:
    """End the MCP sessions once their calls are answered or streams end; their streams have no end of their own."""
    if endpoint is None:
        return
    waited = {asyncio.create_task(endpoint.calls_end()), asyncio.create_task(stopping.streams_end.wait())}
    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    for task in waited:
        task.cancel()
    await endpoint.end_sessions()


async def _end(serving: asyncio.Task[None], server: uvicorn.Server, stopping: Stopping, shutdown: Shutdown) -> None:
    """Wait for open requests, then end streams, then cancel, each for its share of the grace."""
    hurried = asyncio.create_task(shutdown.hurried.wait())
    grace = shutdown.grace_seconds
    await asyncio.wait({serving, hurried}, timeout=grace * FINISHING_SHARE, return_when=asyncio.FIRST_COMPLETED)
    hurried.cancel()
    stopping.end_streams()
    step_seconds = min(
        grace * (CANCELLING_SHARE - FINISHING_SHARE), HURRIED_SECONDS if shutdown.hurried.is_set() else grace
    )
    await asyncio.wait({serving}, timeout=step_seconds)
    if running := [task for task in server.server_state.tasks if not task.done()]:
        logger.warning("%d requests did not end in time and are cancelled", len(running))
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=step_seconds)
    server.force_exit = True
    await asyncio.wait({serving}, timeout=step_seconds)
    if serving.done():
        await serving
    else:
        serving.cancel()


def _bind_error(error: OSError, port: int) -> ConfigurationError | ConflictError:
    if error.errno == errno.EADDRINUSE:
        return ConflictError(
            f"Port {port} is taken by another program.",
            field="PORT",
            remedy="Stop that program, or choose another port with --port (0 takes a free one).",
        )
    if error.errno == errno.EACCES:
        return ConfigurationError(
            f"This user may not listen on port {port}.", field="PORT", remedy="Choose a port above 1023 with --port."
        )
    return ConfigurationError(
        f"The service cannot listen there: {error.strerror or type(error).__name__}.",
        field="HOST, PORT",
        remedy="Choose another address or port.",
    )


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
