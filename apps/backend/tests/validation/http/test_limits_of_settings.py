"""Limits that settings set: metadata and conditions of filters, wherever a caller sends them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from ragcorp.domain.filters import MOST_FILTER_CONDITIONS
from ragcorp.main.service.app import run_service

pytestmark = pytest.mark.anyio

LARGE = {"note": "ñ" * 50}  # 100 bytes of UTF-8 and more, with fewer characters
SMALL = {"note": "ñ" * 40}
FOUR = {f"k{number}": 1 for number in range(4)}
FIVE = FOUR | {"k5": 1}


@pytest.fixture
async def client(
    make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> AsyncIterator[httpx.AsyncClient]:
    container = await make_container(max_metadata_bytes=100, max_filter_conditions=4)
    async with run_service(container) as app, make_client(app) as client:
        yield client


def fact(metadata: dict[str, str]) -> dict[str, Any]:
    ends = {"subject": {"name": "Ana"}, "predicate": "dirige", "object": {"name": "Obras"}}
    return {**ends, "metadata": metadata}


async def test_metadata_has_its_bound_in_all_that_is_stored(client: httpx.AsyncClient) -> None:
    writes: list[tuple[str, str, Callable[[dict[str, str]], dict[str, Any]]]] = [
        ("PUT", "/documents/a", lambda metadata: {"text": "a", "metadata": metadata}),
        ("PUT", "/collections/memory/items/a", lambda metadata: {"text": "a", "metadata": metadata}),
        ("POST", "/collections/history/items", lambda metadata: {"text": "a", "session": "s", "metadata": metadata}),
        ("PATCH", "/collections/memory/items/a", lambda metadata: {"metadata": metadata}),
        ("PUT", "/graph/entities/a", lambda metadata: {"name": "Ana", "metadata": metadata}),
        ("PUT", "/graph/facts/a", fact),
    ]
    for method, path, body in writes:
        taken = await client.request(method, path, json=body(SMALL))
        assert taken.status_code in (200, 201), (path, taken.text)
        refused = await client.request(method, path, json=body(LARGE))
        assert refused.status_code == 422, path
        (error,) = refused.json()["errors"]
        assert (error["field"], error["limit"]) == ("metadata", "100 bytes as JSON")
        assert error["remedy"]
        assert "ñ" not in refused.text


async def test_metadata_has_its_bound_in_lines_and_forms(client: httpx.AsyncClient) -> None:
    lines = b"".join(
        json.dumps({"external_id": name, "text": "a", "metadata": metadata}).encode() + b"\n"
        for name, metadata in (("small", SMALL), ("large", LARGE))
    )
    for path in ("/documents/bulk", "/collections/memory/items/bulk"):
        answer = await client.post(path, content=lines, headers={"Content-Type": "application/x-ndjson"})
        first, second, summary = map(json.loads, answer.text.splitlines())
        assert (first["status"], summary["summary"]["failed"]) == ("created", 1), path
        assert second["error"]["errors"][0]["limit"] == "100 bytes as JSON"
    form = {"files": {"file": ("a.txt", b"a", "text/plain")}, "data": {"metadata": json.dumps(LARGE)}}
    assert (await client.put("/documents/form", **form)).status_code == 422


async def test_a_filter_has_its_most_conditions_in_bodies_and_parameters(client: httpx.AsyncClient) -> None:
    for path in ("/search", "/ask"):
        assert (await client.post(path, json={"query": "a", "filters": FOUR})).status_code == 200
        refused = await client.post(path, json={"query": "a", "filters": FIVE})
        assert (refused.status_code, refused.json()["errors"][0]["limit"]) == (422, "4 conditions"), path
    for path in ("/documents", "/collections/memory/items", "/collections/artifact_chunks/items",
                 "/collections/facets", "/graph/entities", "/graph/facts"):  # fmt: skip
        assert (await client.get(path, params={"filters": json.dumps(FOUR)})).status_code == 200, path
        refused = await client.get(path, params={"filters": json.dumps(FIVE)})
        assert (refused.status_code, refused.json()["errors"][0]["limit"]) == (422, "4 conditions"), path


async def test_a_setting_may_allow_more_conditions(
    make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    container = await make_container(max_filter_conditions=30)
    async with run_service(container) as app, make_client(app) as client:
        many = {f"k{number}": 1 for number in range(30)}
        assert (await client.post("/search", json={"query": "a", "filters": many})).status_code == 200
        assert (await client.get("/documents", params={"filters": json.dumps(many)})).status_code == 200
        most = {f"k{number}": 1 for number in range(MOST_FILTER_CONDITIONS + 1)}
        assert (await client.post("/search", json={"query": "a", "filters": most})).status_code == 422
