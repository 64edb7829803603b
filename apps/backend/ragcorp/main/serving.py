"""Runs the service: takes the port first, and stops cleanly."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import uvicorn

from ragcorp.domain.exceptions import ConfigurationError, ConflictError
from ragcorp.interface.cli.services import OnListening, RunningService, ServeOptions, Target
from ragcorp.main.app import run_app
from ragcorp.main.command_settings import settings_for
from ragcorp.main.container import Container
from ragcorp.main.sessions import open_prepared, session_of

GRACEFUL_SECONDS = 5
"""How long open requests and streams may take to end when the service stops."""

BACKLOG = 2048


@asynccontextmanager
async def open_service(target: Target, options: ServeOptions) -> AsyncIterator[RunningService]:
    """Take the port, then open the storage; ``run`` of what is yielded serves until it is cancelled.

    Raises ConflictError for a port that is taken, and what opening the storage raises.
    """
    settings = settings_for(target, host=options.host, port=options.port)
    with listening_socket(settings.host, settings.port) as listener:
        async with open_prepared(settings) as container:
            yield RunningService(session=session_of(container), run=partial(serve_container, container, listener))


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on a loopback address.

    It listens from the start, not only when the service is ready: between a bind and a later listen another program
    could take the port. Clients that come early wait.
    """
    family, address = _loopback(host)
    try:
        listener = socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise _refused(error, port) from error
    with listener:
        # asyncio sets it on sockets that it made itself; without it each answer on a kept connection waits 40 ms
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


async def serve_container(container: Container, listener: socket.socket, on_listening: OnListening) -> None:
    """Serve the container's REST interface until cancelled; then end open requests and return.

    The cancellation is consumed: to be stopped is the normal end of a service.
    """
    async with run_app(container) as app:
        config = uvicorn.Config(
            app,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
        )
        server = _Server(config, lambda: on_listening(_url(listener)))
        serving = asyncio.create_task(server.serve([listener]), name="uvicorn")
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            if app.state.mcp is not None:
                await app.state.mcp.end_sessions()
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    """Leaves the signals to the command line, which stops everything else too, and tells when it listens."""

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


def _loopback(host: str) -> tuple[socket.AddressFamily, str]:
    if host == "localhost":
        return socket.AF_INET, "127.0.0.1"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise ConfigurationError(
            "The service listens on a loopback address only: it has no keys yet, so everyone who reaches it may read "
            "and delete all documents.",
            field="HOST",
            limit="127.0.0.1, ::1 or localhost",
            remedy="Use 127.0.0.1, and put a proxy that authenticates before it.",
        )
    return socket.AF_INET6 if address.version == 6 else socket.AF_INET, str(address)


def _refused(error: OSError, port: int) -> ConfigurationError | ConflictError:
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
