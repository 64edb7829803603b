"""Bounds of a stream of events, on sockets: heartbeat, deadline, readers that do not read, what its bytes look like."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.service.http_protocol import cutting_protocol
from support.fixtures.http import MakeApp, Serve, with_each_parser
from support.http.events import events_of
from support.http.fakes import HeldSearch, Spanish, World
from support.http.serving import raw_exchange, serving
from support.memory.conversations import NO_PAGES

pytestmark = pytest.mark.anyio

QUESTION = {"query": "¿plazo?", "stream": True}


@pytest.fixture(autouse=True)
async def stored(client: httpx.AsyncClient) -> None:
    await client.put("/documents/a.md", json={"text": "El plazo es de 30 días."})


@pytest.fixture
async def held(world: World) -> HeldSearch:
    return HeldSearch(
        await world.services().use_cases.search.search(SearchRequest(query="plazo"), principal=Principal())
    )


def app_over(world: World, held: HeldSearch, **limits: Any) -> Any:
    answer = AnswerQuery(
        search=held, answerer=world.answerer, languages=Spanish(), pages=NO_PAGES, limits=AnswerLimits()
    )
    return create_app(world.services(answer=answer), HttpLimits(**limits))


async def pieces_of(url: str, body: dict[str, Any]) -> AsyncIterator[tuple[httpx.Response, str]]:
    """Yield the response with all that has come, piece by piece."""
    text = ""
    async with (
        asyncio.timeout(30),
        httpx.AsyncClient(base_url=url) as client,
        client.stream("POST", "/ask", json=body) as answer,
    ):
        async for piece in answer.aiter_text():
            text += piece
            yield answer, text


def request(body: dict[str, Any], *headers: str, version: str = "1.1", method: str = "POST") -> bytes:
    content = json.dumps(body).encode()
    lines = [
        f"{method} /ask HTTP/{version}",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


@pytest.mark.parametrize("fails", [False, True])
async def test_a_search_that_takes_long_is_bridged_by_pings(
    world: World, serve: Serve, held: HeldSearch, *, fails: bool
) -> None:
    app = app_over(world, held, ping_seconds=0.1, request_timeout_seconds=1.0)
    if fails:
        held.error = StorageUnavailableError("out", reason="unreachable")
    text = ""
    async with serve(app) as url:
        async for answer, text in pieces_of(url, QUESTION):
            assert answer.status_code == 200
            if text.count("event: ping") >= 2:
                held.let_go.set()
    events = events_of(text)
    assert events[0] == ("status", {"status": "searching"})
    names = [name for name, _ in events if name != "ping"]
    if fails:
        assert names == ["status", "error"]
        assert (events[-1][1]["status"], events[-1][1]["code"]) == (503, "storage_unavailable")
    else:
        assert names[:3] == ["status", "status", "search_results"]
        assert names[-1] == "final_answer"


async def test_a_client_that_leaves_a_search_of_a_stream_ends_it(world: World, serve: Serve, held: HeldSearch) -> None:
    async with serve(app_over(world, held)) as url:
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(request(QUESTION))
        await asyncio.sleep(0.2)  # within the time in which a failure still has a status of its own
        writer.close()
        async with asyncio.timeout(10):
            await held.cancelled.wait()


async def test_a_stream_ends_in_an_error_at_its_deadline(world: World, make_app: MakeApp, serve: Serve) -> None:
    world.answerer.script = ["El plazo ", 60.0]
    app = make_app(ask_timeout_seconds=0.3, write_timeout_seconds=0.2)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        events = events_of((await client.post("/ask", json=QUESTION)).text)
    name, data = events[-1]
    assert (name, data["status"], data["reason"]) == ("error", 503, "timeout")
    assert "final_answer" not in dict(events)
    assert world.answerer.closed.is_set()


def tasks() -> set[str]:
    """What runs, but the watcher that the library of the streams starts once."""
    running = {repr(task.get_coro()) for task in asyncio.all_tasks()}
    return {one for one in running if "_shutdown_watcher" not in one}


@pytest.mark.parametrize("who", ["server", "stream"])
async def test_a_client_that_does_not_read_is_given_up(world: World, make_app: MakeApp, who: str) -> None:
    """What it is not sent waits in bounded buffers; then the work for it ends."""
    world.answerer.script = ["palabra " * 20] * 20_000
    sent = 0
    fed = world.answerer.answer

    async def counted(prompt: Any) -> AsyncIterator[Any]:
        nonlocal sent
        async for event in fed(prompt):
            sent += 1
            await asyncio.sleep(0)  # as one who waits for a model
            yield event

    world.answerer.answer = counted  # type: ignore[method-assign, assignment]
    seconds = {"server": (0.5, 600.0), "stream": (600.0, 0.5)}[who]
    app = make_app(write_timeout_seconds=seconds[1], ask_timeout_seconds=600.0)
    async with serving(app, http=cutting_protocol(seconds[0])) as url:
        host, port = url.removeprefix("http://").split(":")
        before = tasks()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, (host, int(port)))
            await loop.sock_sendall(client, request(QUESTION))
            async with asyncio.timeout(30):
                await world.answerer.closed.wait()
                while tasks() - before:  # noqa: ASYNC110 - tasks of the server
                    await asyncio.sleep(0.05)
    assert 0 < sent < 10_000


@with_each_parser
async def test_each_event_is_a_line_of_json_whatever_it_holds(world: World, make_app: MakeApp, serve: Serve) -> None:
    hostile = "a\r\n\r\nevent: final_answer\ndata: {}\n\n\x0b\x0c\x85\u2028\u2029\x00\x1b[31m [1]"
    world.answerer.script = [hostile]
    async with serve(make_app()) as url, httpx.AsyncClient(base_url=url) as client:
        answer = await client.post("/ask", json=QUESTION)
    names = []
    for block in answer.text.removesuffix("\r\n\r\n").split("\r\n\r\n"):
        event, data = block.split("\r\n")
        names.append(event)
        json.loads(data.removeprefix("data: "))
        assert len(block.split("\n")) == 2
    assert names.count("event: final_answer") == 1


async def test_the_head_says_that_it_is_a_stream(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url, httpx.AsyncClient(base_url=url) as client:
        answer = await client.post("/ask", json=QUESTION, headers={"Last-Event-ID": "7"})
        head = await client.head("/ask")
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"
    assert events_of(answer.text)[0][0] == "status"
    assert head.status_code == 405


@with_each_parser
async def test_an_old_client_gets_the_stream_and_then_its_end(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url:
        answer = await raw_exchange(url, request(QUESTION, version="1.0"))
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer.lower()
    assert answer.count(b"event: final_answer") == 1


async def test_ten_thousand_pieces_come_whole_and_in_order(world: World, make_app: MakeApp, serve: Serve) -> None:
    world.answerer.script = [f"{n} " for n in range(10_000)] + ["[1]"]
    async with (
        serve(make_app(ask_timeout_seconds=120.0)) as url,
        httpx.AsyncClient(base_url=url, timeout=120) as client,
    ):
        events = events_of((await client.post("/ask", json=QUESTION)).text)
    told = "".join(data["delta"] for name, data in events if name == "message")
    assert events[-1][1]["answer"] == told == "".join(f"{n} " for n in range(10_000)) + "[1]"
