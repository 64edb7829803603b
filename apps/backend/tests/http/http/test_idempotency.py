"""Writes that are sent again under one Idempotency-Key, over a real database and real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE
from ragcorp.infrastructure.postgres.keys.idempotency_store import PostgresIdempotencyStore
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.wiring.container import Container
from support.fixtures.http import Serve
from support.http.callers import KnownCallers, bearer
from support.http.fakes import World
from support.http.waiting import until, until_true

pytestmark = pytest.mark.anyio

KEY = {"Idempotency-Key": "c1"}
ROWS = "SELECT caller, idempotency_key, status FROM idempotent_requests ORDER BY 1, 2"


@pytest.fixture
def app(world: World, idempotency_store: PostgresIdempotencyStore) -> FastAPI:
    services = world.services(authenticator=KnownCallers(), idempotency=idempotency_store)
    return create_app(services, HttpLimits(max_body_bytes=200_000, max_file_bytes=3_000_000))


@pytest.fixture
async def client(app: FastAPI, serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        yield client


async def rows(container: Container) -> list[tuple[Any, ...]]:
    async with container.database.autocommit(EVERY_WORKSPACE) as connection:
        return await (await connection.execute(ROWS.encode())).fetchall()


async def test_a_write_that_is_sent_again_is_answered_as_it_was_first(client: httpx.AsyncClient) -> None:
    first = await client.put("/documents/a", json={"text": "uno"}, headers=KEY)
    again = await client.put("/v1/documents/a", json={"text": "uno"}, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert (await client.put("/documents/a", json={"text": "uno"})).status_code == 200  # without one it is done again


async def test_what_is_refused_is_answered_alike_too(client: httpx.AsyncClient) -> None:
    first = await client.put("/documents/a", json={"text": 1}, headers=KEY)
    again = await client.put("/documents/a", json={"text": 1}, headers=KEY)
    assert first.status_code == again.status_code == 422
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/documents/a", {"text": "otro"}),
        ("PUT", "/documents/b", {"text": "uno"}),
        ("PATCH", "/documents/a", {"text": "uno"}),
        ("PUT", "/documents/a?x=1", {"text": "uno"}),
        ("DELETE", "/documents/a", None),
    ],
)
async def test_a_key_that_was_used_for_another_request_is_refused(
    method: str, path: str, body: Any, client: httpx.AsyncClient, world: World
) -> None:
    await client.put("/documents/a", json={"text": "uno"}, headers=KEY)
    refused = await client.request(method, path, json=body, headers=KEY)
    assert refused.status_code == 422
    assert refused.json()["code"] == "idempotency_mismatch"
    assert (await client.get("/documents/a")).status_code == 200
    assert (await client.get("/documents/b")).status_code == 404


async def test_of_many_at_once_one_is_done(world: World, client: httpx.AsyncClient, container: Container) -> None:
    world.repository.fault.delay = 0.05

    async def one() -> httpx.Response:
        return await client.post("/collections/memory/items", json={"text": "una nota"}, headers=KEY)

    answers = await asyncio.gather(*(one() for _ in range(20)))
    statuses = sorted(answer.status_code for answer in answers)
    done = [answer for answer in answers if answer.status_code == 201]
    assert set(statuses) <= {201, 409}
    assert sum("idempotency-replayed" not in answer.headers for answer in done) == 1
    assert len({answer.content for answer in done}) == 1
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json()["code"] == "idempotency_in_progress"
            assert int(answer.headers["retry-after"]) >= 1
    assert (await one()).headers["idempotency-replayed"] == "true"
    assert len((await client.get("/collections/memory/items")).json()["items"]) == 1
    assert await rows(container) == [("", "c1", 201)]


async def test_after_an_outage_the_same_write_is_done(
    world: World, client: httpx.AsyncClient, container: Container
) -> None:
    world.repository.fault.error = StorageUnavailableError("The database is away.", reason="unreachable")
    assert (await client.put("/documents/a", json={"text": "uno"}, headers=KEY)).status_code == 503
    assert await rows(container) == []
    world.repository.fault.error = None
    done = await client.put("/documents/a", json={"text": "uno"}, headers=KEY)
    assert done.status_code == 201
    assert "idempotency-replayed" not in done.headers


async def test_what_is_too_large_is_not_kept(client: httpx.AsyncClient, container: Container) -> None:
    answer = await client.put("/documents/a", json={"text": "x" * 300_000}, headers=KEY)
    assert answer.status_code == 413
    assert await rows(container) == []


async def test_callers_do_not_meet_each_others_keys(client: httpx.AsyncClient, container: Container) -> None:
    """Each is answered by its own first answer, in whatever order they are asked again."""
    callers = {"one": bearer("one.secret"), "two": bearer("two.secret"), "": {}}
    first: dict[str, bytes] = {}
    for turn, name in enumerate(("one", "two", "", "", "one", "two")):
        body = {"text": f"de {name}"}
        answer = await client.put(f"/documents/de-{name}", json=body, headers={**KEY, **callers[name]})
        assert answer.status_code == 201, (turn, answer.text)
        assert ("idempotency-replayed" in answer.headers) == (turn >= 3)
        assert answer.content == first.setdefault(name, answer.content)
    assert len(set(first.values())) == 3
    assert await rows(container) == [("", "c1", 201), ("one", "c1", 201), ("two", "c1", 201)]


async def test_a_file_and_a_form_are_the_same_when_sent_again(client: httpx.AsyncClient) -> None:
    content = "línea\n".encode() * 30_000  # several reads of the socket
    for number, kind in enumerate(("file", "form", "form")):
        headers = {"Idempotency-Key": kind + str(number % 2)}
        for turn in range(2):
            if kind == "file":
                sent = {"content": content, "headers": {**headers, "Content-Type": "text/plain"}}
            else:  # each time with a boundary of its own
                sent = {"files": {"file": ("a.txt", content, "text/plain")}, "headers": headers}
            answer = await client.put(f"/documents/{kind}", **sent)
            assert answer.status_code in (200, 201), answer.text
            assert ("idempotency-replayed" in answer.headers) == (turn == 1)
    changed = {"file": ("a.txt", content + b"x", "text/plain")}
    refused = await client.put("/documents/form", files=changed, headers={"Idempotency-Key": "form1"})
    assert refused.status_code == 422


async def test_a_forms_boundary_counts_where_it_delimits_only(client: httpx.AsyncClient) -> None:
    def form(boundary: str, text: str) -> dict[str, Any]:
        part = 'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain'
        body = f"--{boundary}\r\n{part}\r\n\r\n{text}\r\n--{boundary}--\r\n"
        return {
            "content": body.encode(),
            "headers": {**KEY, "Content-Type": f"multipart/form-data; boundary={boundary}"},
        }

    assert (await client.put("/documents/a", **form("limite", "sin limite alguno"))).status_code == 201
    for other in (form("limite", "sin  alguno"), form("otro", "sin otro alguno")):
        refused = await client.put("/documents/a", **other)
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_mismatch")
    again = await client.put("/documents/a", **form("otro", "sin limite alguno"))
    assert again.headers["idempotency-replayed"] == "true"


async def test_a_file_of_another_name_is_another_request(client: httpx.AsyncClient) -> None:
    async def one(name: str) -> httpx.Response:
        headers = {**KEY, "Content-Type": "text/plain", "Content-Disposition": f'attachment; filename="{name}"'}
        return await client.put("/documents/a", content=b"uno", headers=headers)

    first, again, other = await one("a.txt"), await one("a.txt"), await one("b.txt")
    assert (first.status_code, again.headers["idempotency-replayed"]) == (201, "true")
    assert other.status_code == 422
    assert other.json()["code"] == "idempotency_mismatch"


async def test_a_replayed_problem_is_the_first_one_and_the_header_names_this_request(client: httpx.AsyncClient) -> None:
    first = await client.put("/documents/a", json={"text": 1}, headers=KEY)
    again = await client.put("/documents/a", json={"text": 1}, headers=KEY)
    assert first.json()["request_id"] == first.headers["x-request-id"] == again.json()["request_id"]
    assert again.headers["x-request-id"] != again.json()["request_id"]


async def test_lines_that_broke_off_are_not_what_is_answered_again(
    app: FastAPI, serve: Serve, world: World, container: Container
) -> None:
    lines = b"".join(b'{"external_id": "d", "text": "texto %d"}\n' % n for n in range(50))
    async with serve(app) as url:
        host, port = url.removeprefix("http://").split(":")
        world.repository.fault.delay = 0.05
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /documents/bulk HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: c1\r\n"
            b"Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n" % len(lines) + lines
        )
        await until(lambda: "d" in world.repository.documents)
        writer.transport.abort()

        async def free() -> bool:
            return not await rows(container)

        await until_true(free)
        world.repository.fault.delay = 0.0
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            answer = await client.post(
                "/documents/bulk", content=lines, headers={**KEY, "Content-Type": "application/x-ndjson"}
            )
    assert "idempotency-replayed" not in answer.headers
    assert '"summary"' in answer.text


async def test_lines_are_answered_again(client: httpx.AsyncClient) -> None:
    lines = b"".join(b'{"external_id": "d%d", "text": "texto %d"}\n' % (n, n) for n in range(100))

    async def one(body: bytes) -> httpx.Response:
        headers = {**KEY, "Content-Type": "application/x-ndjson"}
        return await client.post("/documents/bulk", content=body, headers=headers)

    first, again, changed = await one(lines), await one(lines), await one(lines + b"\n")
    assert '"created":100' in first.text
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert changed.status_code == 422


async def test_a_read_knows_no_such_key(client: httpx.AsyncClient, container: Container) -> None:
    for _ in range(2):
        answer = await client.post("/search", json={"query": "plazo"}, headers=KEY)
        assert answer.status_code == 200
        assert "idempotency-replayed" not in answer.headers
    assert await rows(container) == []


@pytest.mark.parametrize("key", [b"", b"a b", "ñ".encode(), b"x" * 201])
async def test_a_key_that_is_none_is_refused(key: bytes, client: httpx.AsyncClient) -> None:
    refused = await client.put("/documents/a", json={"text": "uno"}, headers=[(b"Idempotency-Key", key)])
    assert refused.status_code == 422
    error = refused.json()["errors"][0]
    assert (error["field"], "200" in error["limit"]) == ("Idempotency-Key", True)
    assert error["remedy"]
    twice = [(b"Idempotency-Key", b"a"), (b"Idempotency-Key", b"b")]
    assert (await client.put("/documents/a", json={"text": "uno"}, headers=twice)).status_code == 422


async def test_a_caller_that_leaves_in_the_middle_keeps_no_name(
    app: FastAPI, serve: Serve, container: Container
) -> None:
    async with serve(app) as url:
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"PUT /documents/a HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: c1\r\n"
            b"Content-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
        )
        await writer.drain()

        async def held() -> bool:
            return await rows(container) == [("", "c1", None)]

        async def free() -> bool:
            return not await rows(container)

        await until_true(held)
        writer.close()
        await until_true(free)
