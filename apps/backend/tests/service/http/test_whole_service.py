"""The whole service over a real database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder, HashingEmbedder

pytestmark = pytest.mark.anyio

TEXT = "# Acme Corporation\n\nEl plazo de entrega es de 30 días hábiles.\n\n## Precio\n\nEl precio es de 5 euros.\n"


async def test_a_document_from_its_arrival_to_its_return(database_client: httpx.AsyncClient) -> None:
    client = database_client
    stored = await client.put("/documents/acme.md", json={"text": TEXT, "occurred_at": "2025-06-01"})
    assert (stored.status_code, stored.json()["pending"]) == (201, 0)
    await client.put("/documents/otro.md", json={"text": "La cafetería abre a las ocho."})
    for mode in ("dense", "sparse", "hybrid", "auto"):
        matches = (await client.post("/search", json={"query": "Acme Corporation plazo", "mode": mode})).json()
        assert matches["degraded"] == []
        assert matches["results"][0]["external_id"] == "acme.md"
    asked = (await client.post("/ask", json={"query": "¿Cuál es el plazo de entrega?"})).json()
    assert "30 días hábiles" in asked["answer"]
    assert asked["citations"][0]["external_id"] == "acme.md"
    assert (await client.post("/ask", json={"query": "¿Quién inventó el teléfono?"})).json()["abstained"] is True

    filters = {"occurred_at": {"gte": "2025-01-01", "lt": "2026-01-01"}}
    matches = (await client.post("/search", json={"query": "plazo", "filters": filters})).json()
    assert {result["external_id"] for result in matches["results"]} == {"acme.md"}

    assert (await client.delete("/documents/acme.md")).status_code == 204
    matches = (await client.post("/search", json={"query": "Acme Corporation"})).json()
    assert "acme.md" not in {result["external_id"] for result in matches["results"]}
    assert (await client.post("/documents/acme.md/restore")).status_code == 200
    matches = (await client.post("/search", json={"query": "Acme Corporation", "mode": "sparse"})).json()
    assert matches["results"][0]["external_id"] == "acme.md"
    assert (await client.get("/documents/acme.md/content")).text == TEXT


@pytest.mark.parametrize(
    "filters", [{"document_id": "x"}, {"sensitivity": "x"}, {"visibility_scope": "x"}, {"occurred_at": "2025-01-01"}]
)
async def test_filter_values_that_a_field_cannot_have(
    database_client: httpx.AsyncClient, filters: dict[str, str]
) -> None:
    for mode in ("dense", "sparse", "hybrid"):
        answer = await database_client.post("/search", json={"query": "a", "mode": mode, "filters": filters})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == f"filters.{next(iter(filters))}"


async def test_the_worker_makes_vectors_after_the_answer(
    make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    container = await make_container(parts=Parts(embedder=HashingEmbedder()), embed_wait_seconds=0)
    async with run_service(container) as app, make_client(app) as client:
        answer = await client.put("/documents/a", json={"text": "Hola a todos."})
        assert answer.json()["pending"] == 1
        async with asyncio.timeout(20):
            while (await client.get("/documents/a")).json()["pending"]:  # noqa: ASYNC110 - as a caller waits
                await asyncio.sleep(0.05)
        assert "pending_embeddings 0.0" in (await client.get("/metrics")).text


async def test_text_answers_while_no_vector_can_be_made(
    make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    container = await make_container(parts=Parts(embedder=BrokenEmbedder(reason="unreachable")))
    async with run_service(container) as app, make_client(app) as client:
        answer = await client.put("/documents/a", json={"text": "Hola a todos."})
        assert (answer.status_code, answer.json()["pending"]) == (201, 1)
        matches = (await client.post("/search", json={"query": "hola"})).json()
    assert [(source["source"], source["reason"]) for source in matches["degraded"]] == [("dense", "unreachable")]
    assert matches["mode_used"] == "sparse"
    assert len(matches["results"]) == 1


async def test_readiness_checks_the_schema(database_client: httpx.AsyncClient, owner_dsn: str) -> None:
    assert (await database_client.get("/readyz")).status_code == 200
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '002'")
    async with asyncio.timeout(10):
        while (answer := await database_client.get("/readyz")).status_code == 200:  # noqa: ASYNC110 - kept for a second
            await asyncio.sleep(0.1)
    assert (answer.status_code, answer.json()["reason"]) == (503, "schema")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=60))
async def test_any_text_in_any_field_is_answered(database_client: httpx.AsyncClient, text: str) -> None:
    """No text, whatever its characters, is a server's error."""
    import json

    def body(value: dict[str, Any]) -> dict[str, Any]:
        return {"content": json.dumps(value), "headers": {"Content-Type": "application/json"}}

    client = database_client
    for answer in (
        await client.post(
            "/search", **body({"query": text, "mode": "hybrid", "filters": {text: text, "owner": [text]}})
        ),
        await client.post("/search", **body({"query": "a", "cursor": text, "fusion": {"weights": {text: 1}}})),
        await client.post("/ask", **body({"query": text})),
        await client.put(
            "/documents/a", **body({"text": text, "title": text, "owner": text, "metadata": {text: text}})
        ),
        await client.put(
            "/documents/b", **body({"text": "a", "path": text, "artifact_type": text, "occurred_at": text})
        ),
        await client.get(
            "/documents", params={"prefix": text.encode("utf-8", "replace"), "filters": json.dumps({text: text})}
        ),
    ):
        assert answer.status_code in (200, 201, 422), answer.text
