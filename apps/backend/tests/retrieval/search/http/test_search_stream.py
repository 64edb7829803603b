"""POST /search and POST /grep with server-sent events, on sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.shapes.files import GrepResults
from ragcorp.interface.shapes.search import SearchResults
from ragcorp.main.service.app import run_service
from support.fixtures.http import MakeApp, Serve
from support.http.events import Event, events_of
from support.http.fakes import HeldSearch, World

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def stored(client: httpx.AsyncClient) -> None:
    for name in ("a.md", "b.md"):
        await client.put(f"/documents/{name}", json={"text": f"El plazo de {name} es de 30 días."})


@pytest.fixture
async def held(world: World) -> HeldSearch:
    result = await world.services().use_cases.search.search(SearchRequest(query="plazo"), principal=Principal())
    return HeldSearch(result)


async def post(url: str, path: str, **body: Any) -> tuple[httpx.Response, list[Event]]:
    async with httpx.AsyncClient(base_url=url) as client:
        answer = await client.post(path, json={"stream": True, **body})
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    return answer, events_of(answer.text) if is_stream else []


async def streamed(url: str, held: HeldSearch, *, until: str) -> str:
    """Return all that a search streams, which is let go as soon as ``until`` has come."""
    body = {"query": "plazo", "stream": True}
    text = ""
    async with (
        httpx.AsyncClient(base_url=url, headers={"X-Request-ID": "mine"}) as client,
        client.stream("POST", "/search", json=body) as answer,
    ):
        assert answer.status_code == 200
        async for piece in answer.aiter_text():
            text += piece
            if until in text:
                held.let_go.set()
    return text


async def test_a_search_tells_what_it_does_and_what_it_found(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url:
        answer, events = await post(url, "/search", query="plazo")
        plain = (await httpx.AsyncClient(base_url=url).post("/search", json={"query": "plazo"})).json()
    assert answer.headers["cache-control"] == "no-store"
    assert [name for name, _ in events] == ["status", "status", "search_results"]
    (_, searching), (_, done), (_, results) = events
    assert searching == {"status": "searching"}
    assert done == {
        "status": "done",
        "tool": "search",
        "passages": 2,
        "chunks": 2,
        "files": 2,
        "characters": 62,
        "message": "search: 2 chunks, 62 characters",
    }
    TypeAdapter(SearchResults).validate_python(results)
    assert results["request_id"] == answer.headers["x-request-id"]
    assert results["results"] == plain["results"]


async def test_searching_is_said_while_it_searches(world: World, serve: Serve, held: HeldSearch) -> None:
    app = create_app(world.services(search=held), HttpLimits(ping_seconds=0.05))
    async with serve(app) as url, asyncio.timeout(10):
        events = events_of(await streamed(url, held, until="event: ping"))
    names = [name for name, _ in events]
    assert names[:2] == ["status", "ping"]
    assert [name for name in names if name != "ping"] == ["status", "status", "search_results"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"query": " "}, 422, "query"),
        ({"query": "x" * 2001}, 422, "query"),
        ({"query": "plazo", "limit": 999}, 422, "limit"),
        ({"query": "plazo", "profile": "no"}, 422, "profile"),
        ({"query": "plazo", "cursor": "no"}, 422, "cursor"),
        ({"query": "plazo", "exact_keywords": "x" * 1001}, 422, "exact_keywords"),
        ({"query": "plazo", "vector_score_threshold": 0}, 422, "vector_score_threshold"),
    ],
)
async def test_what_is_refused_is_an_ordinary_response(
    make_app: MakeApp, serve: Serve, body: dict[str, Any], status: int, field: str
) -> None:
    async with serve(make_app()) as url:
        answer, events = await post(url, "/search", **body)
    assert (answer.status_code, events) == (status, [])
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StorageUnavailableError("out", reason="unreachable"), 503, "storage_unavailable"),
        (RuntimeError("secret"), 500, "internal"),
    ],
)
async def test_a_search_that_fails_on_its_way_ends_in_an_error(
    world: World, serve: Serve, held: HeldSearch, error: Exception, status: int, code: str
) -> None:
    held.error = error
    async with serve(create_app(world.services(search=held), HttpLimits())) as url, asyncio.timeout(10):
        text = await streamed(url, held, until="event: status")
    (first, _), (last, problem) = events_of(text)
    assert (first, last) == ("status", "error")
    assert (problem["status"], problem["code"], problem["request_id"]) == (status, code, "mine")
    assert "secret" not in text


async def test_a_search_that_never_ends_is_given_up(world: World, serve: Serve, held: HeldSearch) -> None:
    app = create_app(world.services(search=held), HttpLimits(request_timeout_seconds=0.1))
    async with serve(app) as url, asyncio.timeout(10):
        _, events = await post(url, "/search", query="plazo")
        assert [name for name, _ in events] == ["status", "error"]
        assert events[-1][1]["code"] == "request_timeout"
        await held.cancelled.wait()


async def test_a_client_that_leaves_ends_the_search(world: World, serve: Serve, held: HeldSearch) -> None:
    app = create_app(world.services(search=held), HttpLimits())
    async with serve(app) as url, httpx.AsyncClient(base_url=url) as client, asyncio.timeout(10):
        async with client.stream("POST", "/search", json={"query": "plazo", "stream": True}) as answer:
            assert await anext(answer.aiter_lines()) == "event: status"
        await held.cancelled.wait()


async def test_metrics_count_a_streamed_search(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url:
        await post(url, "/search", query="plazo")
        async with httpx.AsyncClient(base_url=url) as client:
            text = (await client.get("/metrics")).text
    assert 'source_requests_total{outcome="ok",source="dense"} 1.0' in text


async def test_grep_tells_characters_and_files(
    tmp_path: Path, make_container: Callable[..., Any], serve: Serve
) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("El plazo es de 30 días.\n", encoding="utf-8")
    container = await make_container(allowed_paths=f"docs={tmp_path}")
    async with run_service(container) as app, serve(app) as url:
        answer, events = await post(url, "/grep", query="plazo")
        refused, none = await post(url, "/grep", query=" ")
    assert [name for name, _ in events] == ["status", "status", "search_results"]
    assert events[1][1] == {
        "status": "done",
        "tool": "grep_search",
        "passages": 2,
        "files": 2,
        "characters": 46,
        "message": "grep_search: 2 passages in 2 files, 46 characters",
    }
    TypeAdapter(GrepResults).validate_python(events[2][1])
    assert [passage["path"] for passage in events[2][1]["passages"]] == ["docs/a.md", "docs/b.md"]
    assert events[2][1]["request_id"] == answer.headers["x-request-id"]
    assert (refused.status_code, none) == (422, [])


async def test_grep_without_roots_is_refused_before_the_stream(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url:
        answer, events = await post(url, "/grep", query="plazo")
    assert (answer.status_code, events) == (403, [])
    assert answer.json()["detail"].startswith("[ERROR: ACCESS_DENIED] ")
