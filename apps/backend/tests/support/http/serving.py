"""Serves an application on a port of the loopback, in the running event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from ragcorp.main.service.http_protocol import ProblemProtocol


@asynccontextmanager
async def serving(app: Any, *, http: str = "httptools") -> AsyncIterator[str]:
    """Yield the base URL. ``httptools`` is as `ragcorp serve` has it."""
    listener = socket.socket()
    # a small buffer, so that a client that does not read is felt at once
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
    # as `ragcorp serve` has it: without it each answer on a kept connection waits 40 ms
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=ProblemProtocol if http == "httptools" else http,
        lifespan="off",
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


async def raw_exchange(url: str, *pieces: bytes, pause: float = 0.0) -> bytes:
    """Send bytes as they are and return all that comes back until the server closes or is silent."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        answer = b""
        try:
            async with asyncio.timeout(5):
                while chunk := await reader.read(65_536):
                    answer += chunk
        except (TimeoutError, ConnectionResetError):
            pass
        return answer
    finally:
        writer.close()
