"""The head of a request is bounded before there is a request: in bytes, in headers and in time."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest
import uvicorn

from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.service.http_protocol import MAX_HEAD_BYTES, MAX_HEADERS, ProblemProtocol
from support.http.connection import Connection
from support.http.fakes import World
from support.http.serving import raw_exchange
from support.http.waiting import until

pytestmark = pytest.mark.anyio

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
CLOSE = b"Connection: close\r\n"


class QuickProtocol(ProblemProtocol):
    head_seconds = 0.3


@pytest.fixture
async def url(world: World) -> AsyncIterator[str]:
    app = create_app(world.services(), HttpLimits())
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, http=QuickProtocol, lifespan="off", log_level="critical"))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await task


def problem_in(answer: bytes) -> tuple[int, dict[str, object]]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)


async def test_what_fits_is_served(url: str) -> None:
    headers = b"".join(b"x-%d: y\r\n" % number for number in range(MAX_HEADERS - 2))
    assert (await raw_exchange(url, HEAD + CLOSE + headers + b"\r\n")).startswith(b"HTTP/1.1 200 ")
    long = b"x: " + b"y" * (MAX_HEAD_BYTES - 200) + b"\r\n"
    pieces = [(HEAD + CLOSE + long + b"\r\n")[start : start + 9000] for start in range(0, MAX_HEAD_BYTES, 9000)]
    assert (await raw_exchange(url, *pieces)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([b"".join(b"x-%d: y\r\n" % number for number in range(MAX_HEADERS)), b"\r\n"], id="many headers"),
        pytest.param([b"x: " + b"y" * MAX_HEAD_BYTES, b"\r\n\r\n"], id="a long header"),
        pytest.param([b"x: ", *([b"y" * 8192] * 8)], id="a header without end"),
        pytest.param([b"x-long: " + b"y" * 40_000 + b"\r\n"] * 2, id="headers that are long together"),
    ],
)
async def test_what_does_not_fit_is_refused(pieces: list[bytes], url: str) -> None:
    status, problem = problem_in(await raw_exchange(url, HEAD, *pieces, pause=0.001))
    assert (status, problem["code"]) == (400, "malformed_request")
    assert "65536 bytes" in str(problem["errors"])
    assert "yyy" not in str(problem)


@pytest.mark.parametrize("path", [b"/healthz", b"/" + b"u" * (MAX_HEAD_BYTES - 7000)])
def test_a_head_that_comes_in_one_piece_is_bounded_as_well(path: bytes, one_connection: Connection) -> None:
    headers = b"".join(b"x-%d: " % number + b"y" * 8000 + b"\r\n" for number in range(9 if b"u" not in path else 1))
    one_connection.protocol.data_received(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n")
    assert problem_in(one_connection.written)[0] == HTTPStatus.BAD_REQUEST
    assert one_connection.is_closed


async def test_a_url_that_is_too_long_is_refused(url: str) -> None:
    status, _ = problem_in(await raw_exchange(url, b"GET /" + b"y" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"))
    assert status == 400


@pytest.mark.parametrize("sent", [b"", b"GET", HEAD, HEAD + b"x: y"])
async def test_who_does_not_end_a_head_is_hung_up_on(sent: bytes, url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    async with asyncio.timeout(20):
        if sent:
            writer.write(sent)
        assert await reader.read() == b""
    writer.close()


async def test_one_byte_after_another_does_not_keep_a_connection(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    ended = asyncio.create_task(reader.read())
    async with asyncio.timeout(20):
        try:
            while not ended.done():
                writer.write(b"x")
                await asyncio.sleep(0.02)
        except ConnectionError:
            pass
        assert await asyncio.gather(ended, return_exceptions=True)
    writer.close()


async def test_a_second_head_on_a_connection_has_its_own_bounds(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    long = b"x: " + b"y" * 40_000 + b"\r\n"
    async with asyncio.timeout(20):
        for _ in range(3):
            writer.write(HEAD + long + b"\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
        writer.write(HEAD)
        assert await reader.read() == b""  # this one does not end
    writer.close()
