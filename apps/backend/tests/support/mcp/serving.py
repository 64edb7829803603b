"""Serves the MCP endpoint on a port of the loopback, behind the layers of the service."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn
from mcp.server import Server
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Scope

from ragcorp.interface.http.layers.boundary import RequestBoundary
from ragcorp.interface.http.layers.lingering_close import LingeringClose
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.mcp.endpoint import EndpointLimits, McpEndpoint

JSON_AND_EVENTS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
SESSION = "mcp-session-id"


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """Yield the base URL."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", log_level="error", access_log=False, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


def key_of(scope: Scope) -> str | None:
    return next((value.decode() for name, value in scope["headers"] if name == b"x-key"), None)


@asynccontextmanager
async def serving_endpoint(
    server: Server[Any], *, stopping: asyncio.Event | None = None, **limits: Any
) -> AsyncIterator[tuple[str, McpEndpoint]]:
    """Yield the URL of the endpoint, and the endpoint. Whose request one is, its header X-Key says."""
    endpoint = McpEndpoint(server, limits=EndpointLimits(**limits), owner_of=key_of, stopping=stopping)
    routes = Starlette(routes=[Route("/mcp", endpoint=endpoint)])
    app = RequestBoundary(LingeringClose(routes), metrics=HttpMetrics())
    async with endpoint.running(), serving(app) as url:
        yield f"{url}/mcp", endpoint
        await endpoint.end_sessions()


def message_of(answer: httpx.Response) -> Any:
    """Return the JSON-RPC message of an answer, whether it came as JSON or as the last event of a stream."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        data = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
        return json.loads(data[-1])
    return answer.json()


async def open_session(client: httpx.AsyncClient, url: str, *, key: str | None = None) -> httpx.Response:
    """Send `initialize` by hand."""
    headers = JSON_AND_EVENTS if key is None else {**JSON_AND_EVENTS, "X-Key": key}
    return await client.post(url, json=INITIALIZE, headers=headers)
