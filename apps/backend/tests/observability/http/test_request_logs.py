"""What a request leaves in the log: one line without a word of its user, and its id on the lines of inner layers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from ragcorp.domain import exceptions as domain
from ragcorp.domain.keys import EVERY_SCOPE, Caller
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.logs.records import JsonLines, RecordReader
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.request_scope import current_request_id
from support.http.fakes import World

pytestmark = pytest.mark.anyio


class Lines(logging.Handler):
    """Keeps what the service's own format makes of each record."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines(RecordReader(request_id=current_request_id)))
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))

    def requests(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["message"] == "request"]


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler, root = Lines(), logging.getLogger("ragcorp")
    before = root.level
    root.addHandler(handler)
    root.setLevel("DEBUG")
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


async def test_a_request_is_one_line_by_its_route(client: httpx.AsyncClient, lines: Lines) -> None:
    answer = await client.put(
        "/documents/canary-id", json={"text": "canary text"}, headers={"X-Request-ID": "r-1", "X-C": "canary"}
    )
    refused = await client.post("/search", json={"query": "canary", "limit": 10_000})
    await client.request("CANARY", "/canary-path?canary=canary")
    first, second, third = lines.requests()
    assert first.pop("ms") >= 0
    assert first.pop("ts").endswith("Z")
    assert first == {
        "level": "info",
        "logger": "ragcorp.interface.http.layers.boundary",
        "message": "request",
        "request_id": "r-1",
        "method": "PUT",
        "route": "/documents/{external_id}",
        "status": 201,
        "bytes": len(answer.content),
        "key": None,
        "outcome": "ok",
    }
    assert (second["outcome"], second["status"]) == ("refused", refused.status_code)
    assert (third["method"], third["route"], third["status"]) == ("other", "unmatched", 404)
    assert "canary" not in json.dumps(lines.lines).lower()


async def test_the_line_names_the_key_and_what_machines_ask_is_told_at_debug(
    world: World, make_client: Callable[[Any], httpx.AsyncClient], lines: Lines
) -> None:
    class Known:
        async def caller(self, credential: str | None) -> Caller:
            return Caller(principal=Principal(), scopes=EVERY_SCOPE, key_id="k1")

    async with make_client(create_app(world.services(authenticator=Known()), HttpLimits())) as client:
        await client.post("/search", json={"query": "a"}, headers={"Authorization": "Bearer k1.secret-canary"})
        await client.get("/healthz")
    assert [(line["key"], line["level"]) for line in lines.requests()] == [("k1", "info"), (None, "debug")]
    assert "canary" not in json.dumps(lines.lines)


async def test_a_source_that_fails_is_one_line_with_the_requests_id(
    client: httpx.AsyncClient, world: World, lines: Lines
) -> None:
    async def out(*_: Any, **__: Any) -> Any:
        raise domain.StorageUnavailableError("out", reason="unreachable")

    world.repository.find_similar_chunks = out
    await client.post("/search", json={"query": "plazo", "mode": "hybrid"}, headers={"X-Request-ID": "r-2"})
    (line,) = [line for line in lines.lines if line.get("source")]
    assert (line["source"], line["outcome"], line["reason"]) == ("dense", "failed", "unreachable")
    assert (line["level"], line["request_id"]) == ("warning", "r-2")


async def test_a_bug_is_told_without_its_message(client: httpx.AsyncClient, world: World, lines: Lines) -> None:
    world.repository.fault.error = RuntimeError("canary\nforged")
    answer = await client.get("/documents/a")
    (line,) = [line for line in lines.lines if line.get("errors")]
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["errors"][0]["type"] == "RuntimeError"
    assert line["errors"][0]["frames"]
    assert "canary" not in json.dumps(lines.lines)
    assert lines.requests()[0]["outcome"] == "error"


async def test_what_outlives_a_request_logs_without_its_id(
    world: World, make_client: Callable[[Any], httpx.AsyncClient], lines: Lines
) -> None:
    release, tasks = asyncio.Event(), list[asyncio.Task[None]]()

    async def later() -> None:
        logging.getLogger("ragcorp.test").info("during")
        await release.wait()
        logging.getLogger("ragcorp.test").info("after")

    async def readiness() -> None:
        tasks.append(asyncio.create_task(later()))
        await asyncio.sleep(0)

    async with make_client(create_app(world.services(readiness=readiness), HttpLimits())) as client:
        await client.get("/readyz", headers={"X-Request-ID": "r-3"})
    release.set()
    await asyncio.gather(*tasks)
    results = {line["message"]: line.get("request_id") for line in lines.lines}
    assert (results["during"], results["after"]) == ("r-3", None)
