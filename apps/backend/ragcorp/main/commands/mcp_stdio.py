"""`ragcorp mcp`: the MCP server on stdin and stdout. It answers at once and opens the database meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import ragcorp
from ragcorp.interface.cli.console.services import Target
from ragcorp.interface.mcp.server import make_mcp_server
from ragcorp.interface.mcp.services import McpServices
from ragcorp.interface.mcp.shared_context import SharedContext
from ragcorp.interface.mcp.stdio import stdio_streams
from ragcorp.main.opening.sessions import open_prepared
from ragcorp.main.service.logs import service_logs
from ragcorp.main.service.mcp import mcp_limits
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.schema import Settings

if TYPE_CHECKING:
    from mcp.server import Server

logger = logging.getLogger(__name__)


async def serve_stdio(target: Target) -> None:
    """Serve until stdin ends or a cancellation, which is consumed. Raises ConfigurationError for invalid settings."""
    settings = settings_for(target)
    with service_logs(settings, target):
        await _serve_logged(settings)


async def _serve_logged(settings: Settings) -> None:
    caller = settings.local_caller  # the user who starts the command may read the data folder
    opening = SharedContext(lambda: _opened(settings), name="storage of the MCP server")
    server = make_mcp_server(
        opening.value, caller_of=lambda _: caller, limits=mcp_limits(settings), version=ragcorp.__version__
    )
    serving = asyncio.create_task(_serve(server, opening), name="MCP over stdio")
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def _serve(server: Server[Any], opening: SharedContext[McpServices]) -> None:
    """Take stdout before a process starts: PostgreSQL would inherit it and outlive this process."""
    try:
        async with stdio_streams() as (read, write):
            opening.start()
            await server.run(read, write, server.create_initialization_options())
    except* BrokenPipeError:
        logger.info("the client left without waiting for its answers")
    finally:
        await opening.aclose()


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[McpServices]:
    async with open_prepared(settings) as container:
        yield McpServices(use_cases=container.use_cases)
