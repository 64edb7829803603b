"""POST /documents/bulk: lines in, lines out."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.interface.http.protocol.streamed_body import lines
from ragcorp.interface.http.streams import line_stream
from ragcorp.interface.http.streams.response_buffer import ResponseBuffer
from support.fixtures.http import MakeApp, Serve, with_each_parser
from support.http.fakes import World
from support.http.serving import raw_exchange
from support.http.waiting import until

pytestmark = pytest.mark.anyio

HEADERS = {"Content-Type": "application/x-ndjson"}


def line(name: str, text: str = "Hola.", **fields: Any) -> bytes:
    return json.dumps({"external_id": name, "text": text, **fields}).encode() + b"\n"


async def bulk(client: httpx.AsyncClient, body: Any, path: str = "/documents/bulk") -> list[dict[str, Any]]:
    answer = await client.post(path, content=body, headers=HEADERS)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(row) for row in answer.text.splitlines()]


async def test_each_line_is_answered_and_all_are_counted(client: httpx.AsyncClient, world: World) -> None:
    first = await bulk(client, line("a") + line("b") + line("a/content", title="x"))
    assert first[:-1] == [
        {"line": 1, "external_id": "a", "status": "created", "unread": []},
        {"line": 2, "external_id": "b", "status": "created", "unread": []},
        {"line": 3, "external_id": "a/content", "status": "created", "unread": []},
    ]
    assert first[-1] == {"summary": {"created": 3, "updated": 0, "unchanged": 0, "failed": 0}}
    assert world.woken == 1
    second = await bulk(client, line("a") + line("b", "Adiós."), "/v1/documents/bulk")
    assert [row.get("status") for row in second[:-1]] == ["unchanged", "updated"]
    assert second[-1]["summary"] == {"created": 0, "updated": 1, "unchanged": 1, "failed": 0}


async def test_a_document_may_come_again_in_the_next_line(client: httpx.AsyncClient) -> None:
    rows = await bulk(client, line("a") + line("b") + line("a", "Adiós.") + line("a", "Adiós."))
    assert [row["status"] for row in rows[:-1]] == ["created", "created", "updated", "unchanged"]
    assert rows[-1]["summary"] == {"created": 2, "updated": 1, "unchanged": 1, "failed": 0}


async def test_a_bad_line_stops_no_other(make_app: MakeApp, world: World, serve: Serve) -> None:
    bad: list[tuple[bytes, str, str | None]] = [
        (b"{", "malformed_json", None),
        (b"\xff\xfe", "malformed_json", None),
        (b"[1]", "invalid_input", None),
        (b'{"external_id":"x","text":"a","text":"b"}', "invalid_input", None),
        (b'{"external_id":"x","text":"\\ud800"}', "malformed_json", None),
        (b'{"external_id":"x","text":"a","metadata":{"n":NaN}}', "malformed_json", None),
        (b'{"external_id":"x","text":"a","metadata":' + b'{"a":' * 40 + b"1" + b"}" * 41, "invalid_input", None),
        (b'{"text":"a"}', "invalid_input", None),
        (b'{"external_id":"","text":"a"}', "invalid_input", None),
        (b'{"external_id":"\\u0000","text":"a"}', "invalid_input", None),
        (b'{"external_id":"x","text":"a","unknown":1}', "invalid_input", None),
        (b'{"external_id":"empty","text":" "}', "unreadable_document", None),
        (b'{"external_id":"path","text":"a","path":"\\u0000"}', "invalid_input", "path"),
        (b'{"external_id":"x","text":"' + b"a" * 3000 + b'"}', "payload_too_large", None),
    ]
    good = [line(f"ok-{number}").strip() for number in range(len(bad))]
    body = b"\n".join(
        part for (content, _, _), ok in zip(bad, good, strict=True) for part in (content, ok, b"", b"  \r")
    )
    async with serve(make_app(max_body_bytes=2000)) as url, httpx.AsyncClient(base_url=url) as client:
        rows = await bulk(client, body)
    failed = {row["line"]: row for row in rows if "error" in row}
    assert sorted(failed) == [1 + 4 * number for number in range(len(bad))]
    for number, (_, code, external_id) in enumerate(bad):
        row = failed[1 + 4 * number]
        assert (row["error"]["code"], row["external_id"]) == (code, external_id), row
        assert row["error"]["detail"]
    assert rows[-1]["summary"] == {"created": len(bad), "updated": 0, "unchanged": 0, "failed": len(bad)}
    assert all(name.startswith("ok-") for name in await world.document_names())


async def test_no_line_at_all_is_no_error(client: httpx.AsyncClient) -> None:
    for body in (b"", b"\n\n"):
        assert await bulk(client, body) == [{"summary": {"created": 0, "updated": 0, "unchanged": 0, "failed": 0}}]


async def test_an_outage_fails_the_batch_and_not_the_next(client: httpx.AsyncClient, world: World) -> None:
    world.repository.fault.error = StorageUnavailableError("The database is out.", reason="unreachable")

    async def body() -> AsyncIterator[bytes]:
        yield b"".join(line(f"a{n}") for n in range(64))
        await asyncio.sleep(0.2)
        world.repository.fault.error = None
        yield line("b")

    rows = await bulk(client, body())
    assert {row["error"]["code"] for row in rows[:64]} == {"storage_unavailable"}
    assert rows[64] == {"line": 65, "external_id": "b", "status": "created", "unread": []}
    assert rows[-1]["summary"] == {"created": 1, "updated": 0, "unchanged": 0, "failed": 64}


async def test_a_batch_that_takes_too_long_is_reported(world: World, make_app: MakeApp, serve: Serve) -> None:
    world.repository.fault.delay = 5.0
    async with serve(make_app(bulk_batch_timeout_seconds=0.2)) as url, httpx.AsyncClient(base_url=url) as client:
        rows = await bulk(client, line("a"))
    assert rows[0]["error"]["code"] == "request_timeout"
    assert rows[-1]["summary"]["failed"] == 1


@with_each_parser
async def test_answers_come_while_the_request_still_goes(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app(request_timeout_seconds=0.5)) as url:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /documents/bulk HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
            b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
        )
        async with asyncio.timeout(10):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            batch = b"".join(line(f"a{n}") for n in range(64))
            writer.write(b"%x\r\n%b\r\n" % (len(batch), batch))
            await reader.readuntil(b'{"line":64,')
            # longer than a request may take otherwise
            await asyncio.sleep(0.7)
            last = line("b")
            writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(last), last))
            await reader.readuntil(b'{"line":65,"external_id":"b","status":"created"')
            await reader.readuntil(b'"failed":0}}')
        writer.close()


async def test_a_sender_that_reads_nothing_until_it_has_sent_all_is_served(make_app: MakeApp, serve: Serve) -> None:
    # bad lines are short to send and long to answer; both buffers are small, so nothing but the server can hold them
    count = 5_000
    async with serve(make_app()) as url:
        host, port = url.removeprefix("http://").split(":")
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(60):
            await loop.sock_connect(client, (host, int(port)))
            await loop.sock_sendall(
                client,
                b"POST /documents/bulk HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                b"Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n" % (3 * count),
            )
            await loop.sock_sendall(client, b"{}\n" * count)
            answer = b""
            while piece := await loop.sock_recv(client, 65_536):
                answer += piece
        client.close()
    assert len(answer) > 100 * count  # far more than the buffers hold
    assert answer.count(b'"line":') == count
    assert b'"failed":5000}}' in answer


HEAD = (
    b"POST /documents/bulk HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    b"Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n"
)


class Deaf:
    """A client with small buffers that sends without reading."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._address = (host, int(port))
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self.sent = 0

    async def send(self, whole: bytes) -> None:
        await self._loop.sock_connect(self._socket, self._address)
        while self.sent < len(whole):
            piece = whole[self.sent : self.sent + 4096]
            await self._loop.sock_sendall(self._socket, piece)
            self.sent += len(piece)

    async def read(self) -> bytes:
        answer = b""
        try:
            while piece := await self._loop.sock_recv(self._socket, 65_536):
                answer += piece
        except ConnectionResetError:
            pass
        return answer

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[ResponseBuffer]:
    """What bulk requests hold of their answers, which is little here."""
    made: list[ResponseBuffer] = []

    class Watched(ResponseBuffer):
        def __init__(self, **values: Any) -> None:
            super().__init__(**values)
            self.most = 0
            made.append(self)

        async def put(self, line: bytes) -> None:
            self.most = max(self.most, self.size + len(line))
            await super().put(line)

    monkeypatch.setattr(line_stream, "ResponseBuffer", Watched)
    monkeypatch.setattr(line_stream, "MOST_UNREAD_BYTES", MOST_HELD)
    return made


MOST_HELD = 100_000
MANY = 8_000


async def test_what_a_sender_does_not_read_is_not_piled_up(
    make_app: MakeApp, serve: Serve, held: list[ResponseBuffer]
) -> None:
    body = b"{}\n" * 200_000  # more than all buffers hold
    async with serve(make_app()) as url:
        client = Deaf(url)
        sending = asyncio.create_task(client.send(HEAD % len(body) + body))
        await until(lambda: bool(held) and held[0].size > MOST_HELD)
        before = -1
        while client.sent > before:  # until nothing is taken any more
            before = client.sent
            await asyncio.sleep(0.1)
        assert not sending.done()
        assert held[0].most < MOST_HELD + 2000
        sending.cancel()
        client.close()
        await until(lambda: not [task for task in asyncio.all_tasks() if "_store_all" in repr(task)])


async def test_a_sender_that_reads_late_gets_all_of_it(
    make_app: MakeApp, serve: Serve, held: list[ResponseBuffer]
) -> None:
    body = b"{}\n" * MANY
    async with serve(make_app()) as url:
        client = Deaf(url)
        sending = asyncio.create_task(client.send(HEAD % len(body) + body))
        await until(lambda: bool(held) and held[0].size > MOST_HELD)
        async with asyncio.timeout(30):
            answer = await client.read()
            await sending
        client.close()
    assert answer.count(b'"line":') == MANY
    assert b'"failed":%d}}' % MANY in answer
    assert held[0].most < MOST_HELD + 2000


async def test_a_sender_that_does_not_read_is_cut(make_app: MakeApp, serve: Serve, held: list[ResponseBuffer]) -> None:
    body = b"{}\n" * MANY
    app = make_app(upload_timeout_seconds=0.3)
    async with serve(app) as url:
        client = Deaf(url)
        sending = asyncio.create_task(client.send(HEAD % len(body) + body))
        await until(lambda: bool(held) and held[0].size > MOST_HELD)
        await until(lambda: held[0].size == 0)  # given up, and what it held with it
        async with asyncio.timeout(30):
            answer = await client.read()
        sending.cancel()
        client.close()
    assert 0 < answer.count(b'"line":') < MANY
    assert b"summary" not in answer


async def test_bad_lines_leave_time_for_others(make_app: MakeApp, make_client: Any) -> None:
    async with make_client(make_app()) as client:
        request = asyncio.create_task(client.post("/documents/bulk", content=b"{}\n" * 3200, headers=HEADERS))
        turns = 0
        while not request.done():
            turns += 1
            await asyncio.sleep(0)
        assert (await request).text.count('"line":') == 3200
    assert turns > 3200 / 64


@with_each_parser
async def test_a_sender_that_leaves_after_its_last_line_ends_the_work(
    make_app: MakeApp, serve: Serve, world: World
) -> None:
    world.repository.fault.delay = 0.05
    app = make_app()
    body = b"".join(line("a", f"texto {n}") for n in range(200))
    stored: list[str] = []
    keep = world.repository.fault.strike

    async def strike() -> None:
        await keep()
        stored.append("a")

    world.repository.fault.strike = strike  # type: ignore[method-assign]
    async with serve(app) as url:
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(HEAD % len(body) + body)
        await until(lambda: bool(stored))
        writer.transport.abort()
        await until(lambda: not [task for task in asyncio.all_tasks() if "_store_all" in repr(task)])
        assert app.state.admission.taken == app.state.admission.waiting == 0
        await until(lambda: not [task for task in asyncio.all_tasks() if "WatchedBody" in repr(task)])
    assert len(stored) < 100
    assert await world.document_names() == ["a"], "what was stored stays"


async def test_one_that_leaves_while_it_waits_for_a_place_stores_nothing(
    make_app: MakeApp, serve: Serve, world: World
) -> None:
    app = make_app(max_concurrent_requests=1)
    await app.state.admission.acquire()
    async with serve(app) as url:
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(HEAD % len(line("a")) + line("a"))
        await until(lambda: app.state.admission.waiting == 1)
        writer.transport.abort()
        await until(lambda: app.state.admission.waiting == 0)
        app.state.admission.release()
        await until(lambda: not [task for task in asyncio.all_tasks() if "_store_all" in repr(task)])
    assert await world.document_names() == []
    assert app.state.admission.taken == 0


async def test_a_sender_that_stalls_is_told(make_app: MakeApp, serve: Serve, world: World) -> None:
    async with serve(make_app(upload_timeout_seconds=0.3)) as url:
        batch = b"".join(line(f"a{n}") for n in range(64))
        answer = await raw_exchange(
            url,
            b"POST /documents/bulk HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n" + b"%x\r\n%b\r\n" % (len(batch), batch),
        )
    assert b'{"line":64,"external_id":"a63","status":"created"' in answer
    assert b'"code":"request_timeout"' in answer
    assert b"summary" not in answer
    assert len(await world.document_names()) == 64


@with_each_parser
async def test_a_sender_that_leaves_ends_the_work(make_app: MakeApp, serve: Serve, world: World) -> None:
    async with serve(make_app()) as url:
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /documents/bulk HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
            b"Content-Length: 1000000\r\n\r\n" + line("a")
        )
        await writer.drain()
        await asyncio.sleep(0.2)
        writer.transport.abort()
        await asyncio.sleep(0.2)
        tasks = [task for task in asyncio.all_tasks() if "_store_all" in repr(task)]
    assert tasks == []
    assert await world.document_names() == []


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
async def test_another_kind_of_body_is_415(client: httpx.AsyncClient, content_type: str) -> None:
    answer = await client.post("/documents/bulk", content=b"{}", headers={"Content-Type": content_type})
    assert answer.status_code == 415
    assert answer.json()["errors"][0]["limit"].startswith("application/x-ndjson")


@given(st.lists(st.binary(max_size=12)), st.integers(1, 7))
async def test_lines_do_not_depend_on_how_they_are_cut(rows: list[bytes], size: int) -> None:
    whole = b"\n".join(row.replace(b"\n", b"") for row in rows)

    async def pieces(step: int) -> AsyncIterator[bytes]:
        for start in range(0, len(whole), step):
            yield whole[start : start + step]

    expected = [None if len(row) > 8 else row for row in whole.split(b"\n")]
    if expected[0] is not None:
        expected[0] = expected[0].removeprefix(b"\xef\xbb\xbf")
    if not whole or whole.endswith(b"\n"):
        expected.pop()
    assert [row async for row in lines(pieces(size), limit=8)] == expected
