"""The items of the collections through the whole service, over PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Principal
from ragcorp.main.opening.library import make_rag
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from support.fixtures.http import Serve
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio

MEMORY = "/v1/collections/memory/items"
HISTORY = "/v1/collections/history/items"


async def until_embedded(client: httpx.AsyncClient, path: str) -> None:
    deadline = time.monotonic() + 20
    while (await client.get(path)).json()["pending"]:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_what_is_written_gets_its_vector_at_once(database_client: httpx.AsyncClient) -> None:
    for path, body in (
        (f"{MEMORY}/a/b", {"text": "Priya vive en Pune.", "kind": "person"}),
        (f"{HISTORY}/a%2Fb", {"text": "Hola.", "timestamp": "2026-03-02T18:40:00Z"}),
    ):
        assert (await database_client.put(path, json=body)).status_code == 201
        await until_embedded(database_client, path)
        assert (await database_client.put(path, json=body)).json()["status"] == "unchanged"
        assert (await database_client.get(path)).json()["external_id"] == "a/b"
        await database_client.patch(path, json={"text": "Otra cosa."})
        await until_embedded(database_client, path)
    facets = (await database_client.get("/collections/facets")).json()["facets"]
    assert (facets["collection"], facets["month"].get("2026-03")) == ({"history": 1, "memory": 1}, 1)
    assert facets["artifact_type"] == {"person": 1, "turn": 1}


async def test_what_the_caller_may_not_read_is_404_and_its_name_taken(
    make_container: Callable[..., Any], serve: Serve
) -> None:
    container = await make_container(parts=Parts(embedder=HashingEmbedder()))
    ana = make_rag(container, principal=Principal(subject="ana"))
    await ana.memory.add("Solo de ana.", external_id="own", visibility_scope=VisibilityScope.PRIVATE)
    async with run_service(container) as app, serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        hidden, missing = await client.get(f"{MEMORY}/own"), await client.get(f"{MEMORY}/none")
        assert hidden.status_code == missing.status_code == 404
        assert {**hidden.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
        assert (await client.put(f"{MEMORY}/own", json={"text": "x"})).status_code == 409
        assert (await client.patch(f"{MEMORY}/own", json={"text": "x"})).status_code == 404
        assert (await client.delete(f"{MEMORY}/own")).status_code == 404
        assert (await client.delete(MEMORY, params={"prefix": "o"})).json() == {"deleted": 0}
        assert (await client.get(MEMORY)).json()["items"] == []
        assert (await client.get("/collections/facets")).json()["facets"]["collection"] == {}
    assert (await ana.memory.get("own")).text == "Solo de ana."


async def test_an_export_over_a_socket(make_container: Callable[..., Any], serve: Serve) -> None:
    container = await make_container(parts=Parts(embedder=HashingEmbedder()))
    lines = [
        json.dumps({"conversation_id": "c", "role": "user", "ts": number, "content": f"Turno {number % 5}."}).encode()
        for number in range(1_200)
    ]
    lines[600] = b"{"
    async with run_service(container) as app, serve(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        for expected in ({"created": 1_199, "unchanged": 0}, {"created": 0, "unchanged": 1_199}):
            answer = await client.post(
                f"{HISTORY}/bulk", content=b"\n".join(lines), headers={"Content-Type": "application/x-ndjson"}
            )
            rows = [json.loads(row) for row in answer.text.splitlines()]
            assert rows[-1]["summary"] == {"updated": 0, "failed": 1, **expected}
            assert [row["line"] for row in rows if "error" in row] == [601]


async def test_a_passage_is_edited_through_the_service(database_client: httpx.AsyncClient) -> None:
    text = "\n\n".join(f"## Parte {number}\n\n" + f"La parte {number} es larga. " * 40 for number in range(3))
    await database_client.put("/documents/c/a.md", json={"text": text})
    chunks = (await database_client.get("/collections/artifact_chunks/items", params={"artifact": "c/a.md"})).json()
    middle = next(chunk for chunk in chunks["items"] if "parte 1" in chunk["text"])
    edited = await database_client.put(
        f"/collections/artifact_chunks/items/{middle['id']}", json={"text": "## Parte 1\n\nLa aguja REQ-77."}
    )
    assert edited.status_code == 200, edited.text
    assert "REQ-77" in edited.json()["passages"][0]["text"]
    matches = (await database_client.post("/search", json={"query": "REQ-77", "mode": "sparse"})).json()["results"]
    assert [result["external_id"] for result in matches][:1] == ["c/a.md"]
    gone = await database_client.get(f"/collections/artifact_chunks/items/{middle['id']}")
    assert gone.status_code == 404
