"""A body that does not end holds neither its connection nor the service: in bytes, and in time."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import httpx
import pytest
import uvicorn

from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.service.http_protocol import MAX_HEAD_BYTES, ProblemProtocol
from support.http.connection import Connection
from support.http.fakes import World
from support.http.waiting import until

pytestmark = pytest.mark.anyio

HOST = b" HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
JSON = b"Content-Type: application/json\r\n"
BULK = b"POST /documents/bulk" + HOST + b"Content-Type: application/x-ndjson\r\n" + CHUNKED


class QuickProtocol(ProblemProtocol):
    body_seconds = 0.5
    unread_seconds = 0.2
    tick_seconds = 0.05


@asynccontextmanager
async def quick_server(app: Any) -> AsyncIterator[tuple[str, int]]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=QuickProtocol,
                lifespan="off",
                log_level="critical",
                timeout_keep_alive=60,
                timeout_graceful_shutdown=2,
            )
        )
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        yield listener.getsockname()
        server.should_exit = True
        await task


@pytest.fixture
async def address(world: World) -> AsyncIterator[tuple[str, int]]:
    async with quick_server(create_app(world.services(), HttpLimits())) as address:
        yield address


async def until_closed(
    address: tuple[str, int], head: bytes, drip: bytes = b"", *, pause: float = 0.02, most: int = 10**9
) -> bytes:
    """Send ``head``, then ``drip`` again and again, and return what was answered when the server has hung up."""
    reader, writer = await asyncio.open_connection(*address)
    answer = b""

    async def read() -> None:
        nonlocal answer
        while piece := await reader.read(65_536):
            answer += piece

    reading = asyncio.create_task(read())
    try:
        async with asyncio.timeout(20):
            writer.write(head)
            sent = 0
            while drip and not reading.done():
                writer.write(drip)
                await writer.drain()
                sent += len(drip)
                assert sent < most, "the server took more and more"
                await asyncio.sleep(pause)
            await reading
    except ConnectionError:
        await asyncio.gather(reading, return_exceptions=True)
    finally:
        reading.cancel()
        writer.close()
    return answer


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


ENDLESS = [
    pytest.param(b"0\r\nX-A: ", b"a" * 65_536, id="a trailer without end"),
    pytest.param(b"0\r\n", b"X-A: b\r\n" * 8192, id="trailers without end"),
    pytest.param(b"1;x=", b"a" * 65_536, id="an extension without end"),
    pytest.param(b"", b"0" * 65_536, id="a size without end"),
]


@pytest.mark.parametrize(("begun", "more"), ENDLESS)
def test_what_is_no_body_is_bounded_in_bytes(begun: bytes, more: bytes, one_connection: Connection) -> None:
    one_connection.protocol.data_received(b"POST /search" + HOST + JSON + CHUNKED + begun)
    for _ in range(3):
        if not one_connection.is_closed:
            one_connection.protocol.data_received(more)
    assert status_of(one_connection.written) == HTTPStatus.BAD_REQUEST


async def test_nobody_takes_an_endless_trailer_of_an_answered_request(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuickProtocol, "unread_seconds", 60.0)
    begun, more = b"0\r\nX-A: ", b"a" * 65_536
    await until_closed(address, b"GET /healthz" + HOST + CHUNKED + begun, more, pause=0.01, most=100 * MAX_HEAD_BYTES)


async def test_trailers_that_end_are_thrown_away(address: tuple[str, int]) -> None:
    body = b"2\r\n{}\r\n0\r\nContent-Type: text/plain\r\nX-Request-ID: trailed\r\n\r\n"
    last = b"GET /healthz" + HOST + b"Connection: close\r\n\r\n"
    answer = await until_closed(address, b"POST /search" + HOST + JSON + CHUNKED + body + last)
    assert status_of(answer) == HTTPStatus.UNPROCESSABLE_ENTITY
    assert b"trailed" not in answer
    assert b"HTTP/1.1 200 " in answer


BODILESS = [
    (b"GET /healthz", 200),
    (b"GET /documents", 200),
    (b"GET /documents/none", 404),
    (b"DELETE /documents/none", 404),
    (b"POST /documents/none/restore", 404),
    (b"OPTIONS /documents", 405),
    (b"POST /none", 404),
]
UNENDED = [(b"Content-Length: 5\r\n\r\n", b""), (CHUNKED, b""), (CHUNKED, b"1\r\na\r\n"), (CHUNKED + b"0\r\nX: ", b"a")]


async def test_where_no_body_is_read_none_is_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuickProtocol, "body_seconds", 60.0)
    cases = [(line, status, head, drip) for line, status in BODILESS for head, drip in UNENDED]
    answers = await asyncio.gather(
        *(until_closed(address, line + HOST + head, drip, pause=0.1) for line, _, head, drip in cases)
    )
    for (line, status, head, drip), answer in zip(cases, answers, strict=True):
        assert status_of(answer) == status, (line, head, drip)


@pytest.mark.parametrize("drip", [b"", b"1\r\n \r\n"])
async def test_a_body_that_is_read_has_a_clock(address: tuple[str, int], drip: bytes) -> None:
    answer = await until_closed(address, b"POST /search" + HOST + JSON + CHUNKED, drip)
    assert status_of(answer) == HTTPStatus.REQUEST_TIMEOUT
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "request_timeout"


async def test_a_bulk_request_in_drops_ends(address: tuple[str, int]) -> None:
    await until_closed(address, BULK, b"1\r\nx\r\n")


async def test_a_bulk_request_at_a_fair_rate_goes_on(address: tuple[str, int]) -> None:
    line = b'{"external_id":"%d","text":"' + b"palabra " * 40 + b'"}\n'
    count = itertools.count()

    def chunk() -> bytes:
        sent = line % next(count)
        return b"%x\r\n" % len(sent) + sent + b"\r\n"

    reader, writer = await asyncio.open_connection(*address)
    loop = asyncio.get_running_loop()
    began = loop.time()
    writer.write(BULK)
    while loop.time() - began < 3 * QuickProtocol.body_seconds:
        writer.write(chunk())
        await asyncio.sleep(0.05)
    writer.write(b"0\r\n\r\n")
    async with asyncio.timeout(20):
        while b"summary" not in await reader.readline():
            pass
    writer.close()


async def test_time_stands_still_while_the_service_does_not_read() -> None:
    piece = b"a" * 200_000

    async def slow(scope: Any, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        await asyncio.sleep(2 * QuickProtocol.body_seconds)
        size = 0
        while True:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body", False):
                break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
        await send({"type": "http.response.body", "body": b"%d" % size})

    async with quick_server(slow) as (host, port), httpx.AsyncClient() as client:
        answer = await client.post(f"http://{host}:{port}/", content=piece)
    assert answer.text == str(len(piece))


@pytest.mark.parametrize("drip", [b"\r\n", b"x"])
async def test_nothing_after_an_upgrade_or_between_requests_holds_a_connection(
    address: tuple[str, int], drip: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuickProtocol, "head_seconds", 0.3)
    await until_closed(address, b"GET /healthz" + HOST + b"\r\n", drip)
    upgrade = b"Connection: Upgrade\r\nUpgrade: other\r\n\r\n"
    answer = await until_closed(address, b"GET /healthz" + HOST + upgrade, drip)
    assert status_of(answer) == HTTPStatus.OK
    assert b"connection: close" in answer.lower()
