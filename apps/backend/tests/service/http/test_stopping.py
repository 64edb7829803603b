"""What a request leaves behind that the service does not wait for, and what it says to one that is still open."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from ragcorp.interface.http.layers.boundary import RequestBoundary
from ragcorp.interface.http.layers.lingering_close import LingeringClose
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.main.process.logs import configure_logging
from ragcorp.main.service.listener import listening_socket
from ragcorp.main.service.serving import serve_container

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

pytestmark = pytest.mark.anyio


@pytest.fixture
def _own_logging() -> Iterator[None]:
    """Log as the commands do, whatever a server of another test has made of uvicorn's loggers."""
    root, parent, server = logging.getLogger(), logging.getLogger("uvicorn"), logging.getLogger("uvicorn.error")
    before = (root.handlers[:], root.level, server.filters[:], server.level)
    handlers, propagate = parent.handlers[:], (parent.propagate, server.propagate)
    parent.handlers, parent.propagate, server.propagate = [], True, True
    server.setLevel(logging.NOTSET)
    configure_logging("info")
    yield
    root.handlers[:], level, server.filters[:], of_server = before
    root.setLevel(level)
    server.setLevel(of_server)
    parent.handlers, (parent.propagate, server.propagate) = handlers, propagate


@pytest.mark.usefixtures("_own_logging")
async def test_a_request_that_is_ended_leaves_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    began = asyncio.Event()

    async def endless(_: Request) -> Response:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError

    app = RequestBoundary(LingeringClose(Starlette(routes=[Route("/", endless)])), metrics=HttpMetrics())
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        async with httpx.AsyncClient(timeout=30) as client:
            request = asyncio.create_task(client.get(f"http://127.0.0.1:{listener.getsockname()[1]}/"))
            await began.wait()
            server.should_exit = True
            await serving
            await asyncio.gather(request, return_exceptions=True)
    said = capsys.readouterr().err
    assert "Cancel 1 running task(s)" in said
    assert "Traceback" not in said
    assert "CancelledError" not in said


async def test_an_open_bulk_request_gets_a_last_line(make_container: Callable[..., Any]) -> None:
    container = await make_container(shutdown_grace_seconds=2)
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    head = b"POST /documents/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    with listening_socket("127.0.0.1", 0) as listener:
        service = asyncio.create_task(serve_container(container, listener, url.set_result))
        await url
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n8\r\nno JSON\n\r\n")  # and no end
        answered = await reader.readuntil(b"}}\n") + await reader.readuntil(b"\n")
        assert b'"line":1' in answered
        service.cancel()
        async with asyncio.timeout(30):
            rest = await reader.read()
            await service
        writer.close()
    assert rest.endswith(b"0\r\n\r\n"), "the response has no end"
    last = json.loads(rest.split(b"\r\n")[1])
    assert (list(last), last["error"]["code"]) == (["error"], "stopping")
