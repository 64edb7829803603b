"""`ragcorp.load_memory_context` against services on sockets: a briefing, or nothing; never an error."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import ragcorp
from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.interface.library.context_client import MAX_CONTEXT_CHARACTERS, MAX_RESPONSE_BYTES

pytestmark = pytest.mark.anyio

BRIEFING = 'MEMORY-1\n<memory>\n- Rajesh said: "We should plan that Goa trip" — ñ\n</memory>\nMEMORY-1'
GOOD = json.dumps({"request_id": "1", "context": BRIEFING, "items": [], "degraded": []}, ensure_ascii=False).encode()


@dataclass
class Service:
    """Answers every request with ``status``, ``headers`` and ``body``, or by ``behave``."""

    status: str = "200 OK"
    body: bytes = GOOD
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    behave: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]] | None = None
    heads: list[str] = field(default_factory=list)
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            if self.behave is not None:
                await self.behave(reader, writer)
            else:
                headers = {"Content-Length": str(len(self.body)), **self.headers}
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                writer.write(f"HTTP/1.1 {self.status}\r\n{lines}\r\n".encode() + self.body)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def running(**fields: Any) -> AsyncIterator[Service]:
    service = Service(**fields)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()


async def test_the_briefing_is_returned_as_it_is() -> None:
    async with running() as service:
        text = await ragcorp.load_memory_context(
            context_engine_url=service.url, token="s3cret", query="viaje a Goa & más", limit=7
        )
    assert text == BRIEFING
    method, target, _ = service.heads[0].split("\r\n")[0].split(" ")
    assert (method, urlsplit(target).path) == ("GET", "/v1/context")
    assert parse_qs(urlsplit(target).query) == {"query": ["viaje a Goa & más"], "limit": ["7"]}
    assert "authorization: bearer s3cret\r\n" in service.heads[0].lower()


async def test_the_defaults_are_the_context_engines() -> None:
    async with running() as service:
        await ragcorp.load_memory_context(context_engine_url=service.url)
    assert "?query=recent+conversations+and+key+facts&limit=10 " in service.heads[0].replace("%20", "+")
    assert "authorization" not in service.heads[0].lower()


@pytest.mark.parametrize("end", ["/", "/v1/context", "/v1/context/"])
async def test_an_address_may_have_its_end(end: str) -> None:
    async with running() as service:
        assert await ragcorp.load_memory_context(context_engine_url=service.url + end) == BRIEFING
    assert service.heads[0].startswith("GET /v1/context?")


async def test_an_empty_memory_is_empty() -> None:
    async with running(body=b'{"context": "", "items": []}') as service:
        assert await ragcorp.load_memory_context(context_engine_url=service.url) == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "404 Not Found"},
        {"status": "401 Unauthorized"},
        {"status": "422 Unprocessable Content"},
        {"status": "500 Internal Server Error"},
        {"status": "503 Service Unavailable"},
        {"status": "204 No Content", "body": b""},
        {"status": "302 Found", "headers": {"Location": "/v1/elsewhere"}},
        {"status": "999 Odd"},
        {"body": b""},
        {"body": b"<html>Sign in</html>"},
        {"body": b'{"context": '},
        {"body": b"\xff\xfe\x00"},
        {"body": b"null"},
        {"body": b"[]"},
        {"body": b'"context"'},
        {"body": b"{}"},
        {"body": b'{"context": null}'},
        {"body": b'{"context": ["a"]}'},
        {"body": b'{"context": 5}'},
        {"body": b"[" * 200_000},
        {"body": json.dumps({"context": "x" * (MAX_CONTEXT_CHARACTERS + 1)}).encode()},
        {"body": json.dumps({"context": "x", "items": "y" * MAX_RESPONSE_BYTES}).encode()},
        {"body": gzip.compress(GOOD, mtime=0), "headers": {"Content-Encoding": "gzip"}},
        {"headers": {"Content-Length": str(len(GOOD) + 5)}},
        {"headers": {"Content-Length": "-1"}},
    ],
    ids=lambda fields: " ".join(f"{name}={str(value)[:30]}" for name, value in fields.items()),
)
async def test_a_response_that_is_no_briefing_is_nothing(fields: dict[str, Any]) -> None:
    async with running(**fields) as service:
        assert await ragcorp.load_memory_context(context_engine_url=service.url) == ""
        assert len(service.heads) == 1


async def test_nobody_there_is_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert await ragcorp.load_memory_context(context_engine_url=url) == ""
    assert await ragcorp.load_memory_context(context_engine_url="http://no-such-host.invalid") == ""


async def _hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()


async def _drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode())
    for position in range(len(GOOD)):
        writer.write(GOOD[position : position + 1])
        await writer.drain()
        await asyncio.sleep(0.1)


async def _garbage(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\x01\x02 not HTTP at all\r\n\r\n" * 100)
    await writer.drain()


async def _gone(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _without_end(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        await writer.drain()


async def _head_without_end(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Y: " + b"z" * 1000 + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0)


@pytest.mark.parametrize("behave", [_hang, _drip, _garbage, _gone, _without_end, _head_without_end])
async def test_a_service_that_misbehaves_is_nothing_in_time(behave: Any) -> None:
    async with running(behave=behave) as service:
        started = time.monotonic()
        assert await ragcorp.load_memory_context(context_engine_url=service.url, timeout=0.6) == ""
        assert time.monotonic() - started < 1.5


async def test_the_log_says_when_it_took_too_long(caplog: pytest.LogCaptureFixture) -> None:
    async with running(behave=_drip) as service:
        await ragcorp.load_memory_context(context_engine_url=service.url, timeout=0.3)
    assert [r.getMessage() for r in caplog.records if r.name.startswith("ragcorp")] == [
        "the memory context was not loaded: timeout"
    ]


async def test_a_service_that_takes_no_connection_is_nothing_in_time() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        started = time.monotonic()
        assert await ragcorp.load_memory_context(context_engine_url=url, timeout=0.5) == ""
        assert time.monotonic() - started < 1.5


@pytest.mark.parametrize(
    "arguments",
    [
        {"context_engine_url": ""},
        {"context_engine_url": "no address"},
        {"context_engine_url": "ftp://localhost"},
        {"context_engine_url": "http://[::1"},
        {"context_engine_url": None},
        {"context_engine_url": "http://127.0.0.1:9", "token": "a\r\nX-Evil: 1"},
        {"context_engine_url": "http://127.0.0.1:9", "token": "ñ"},
        {"context_engine_url": "http://127.0.0.1:9", "query": "a\ud800"},
        {"context_engine_url": "http://127.0.0.1:9", "timeout": 0},
        {"context_engine_url": "http://127.0.0.1:9", "timeout": -1},
        {"context_engine_url": "http://127.0.0.1:9", "timeout": None},
    ],
)
async def test_no_argument_makes_it_raise(arguments: dict[str, Any]) -> None:
    assert await ragcorp.load_memory_context(**arguments) == ""


async def test_a_cancellation_passes_through() -> None:
    async with running(behave=_hang) as service:
        task = asyncio.ensure_future(ragcorp.load_memory_context(context_engine_url=service.url, timeout=30))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_the_log_names_neither_token_nor_content(caplog: pytest.LogCaptureFixture) -> None:
    async with running(status="500 Oops", body=b"SECRET-IN-BODY") as service:
        await ragcorp.load_memory_context(context_engine_url=service.url, token="s3cret", query="private words")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("ragcorp")]
    assert len(ours) == 1
    assert not any(secret in ours[0] for secret in ("s3cret", "SECRET-IN-BODY", "private"))


def test_it_blocks_where_there_is_no_event_loop() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        started = time.monotonic()
        assert ragcorp.load_memory_context_blocking(context_engine_url=url, timeout=0.3) == ""
        assert time.monotonic() - started < 2


async def test_the_blocking_one_loads_as_well() -> None:
    async with running() as service:
        load = ragcorp.load_memory_context_blocking
        assert await asyncio.to_thread(load, context_engine_url=service.url) == BRIEFING


def test_without_its_extra_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ragcorp.interface.library.context_client")
    monkeypatch.delattr("ragcorp.interface.library.context_client")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as caught:
        ragcorp.load_memory_context  # noqa: B018 - the name is looked up at first use
    assert "ragcorp[client]" in str(caught.value)
