"""Runs the service in this process, and shuts it down cleanly."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from ragcorp.interface.cli.console.services import OnListening, RunningService
from ragcorp.interface.http.layers.stopping import Stopping
from ragcorp.main.opening.facts import facts_of
from ragcorp.main.opening.sessions import open_prepared
from ragcorp.main.service.app import run_service
from ragcorp.main.service.http_protocol import cutting_protocol
from ragcorp.main.service.listener import url_of
from ragcorp.main.service.shutdown import CANCELLING_SHARE, FINISHING_SHARE, Shutdown
from ragcorp.main.service.startup import checked_access
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.container import Container

if TYPE_CHECKING:
    from ragcorp.interface.mcp.endpoint import McpEndpoint

HURRIED_SECONDS = 0.5
"""Time of each shutdown step after a second signal."""

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_alone(settings: Settings, listener: socket.socket, ending: Shutdown) -> AsyncIterator[RunningService]:
    """Open the storage; ``run`` of the yielded service serves in this process. Raises as ``open_service``."""
    async with open_prepared(settings) as container:
        run = partial(serve_container, container, listener, shutdown=ending)
        access = await checked_access(settings, listener, container.database, container.authenticator.any_exists)
        yield RunningService(facts=facts_of(settings), run=run, hurry=ending.hurry, access=access)


async def serve_container(
    container: Container,
    listener: socket.socket,
    on_listening: OnListening,
    *,
    shutdown: Shutdown | None = None,
    run: Callable[[Container], AbstractAsyncContextManager[FastAPI]] = run_service,
) -> None:
    """Serve until cancelled, then end open requests and return: the cancellation is the normal end of a service."""
    async with run(container) as app:
        config = uvicorn.Config(
            app,
            http=cutting_protocol(container.settings.write_timeout_seconds),
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
        )
        server = _Server(config, lambda: on_listening(url_of(listener)))
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
