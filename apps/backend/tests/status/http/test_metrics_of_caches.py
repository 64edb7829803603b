"""What an operator sees of the caches of vectors, and of hydrations: GET /metrics on a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ragcorp.domain.structure.hydration import (
    DroppedEntity,
    DropReason,
    HydratedEntity,
    Hydration,
    HydrationLimits,
    HydrationUse,
    PlannedEntity,
)
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from support.fixtures.http import Serve
from support.hydration.in_memory import ref, text
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio


def samples(exposed: str, family: str) -> dict[tuple[str, ...], float]:
    """Return the values of one metric by its labels' values."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for result in text_string_to_metric_families(exposed)
        for sample in result.samples
        if sample.name == f"{family}_total"
    }


async def test_queries_and_passages_by_how_their_vector_came(make_container: Callable[..., Any], serve: Serve) -> None:
    container = await make_container(parts=Parts(embedder=HashingEmbedder()))
    async with run_service(container) as app, serve(app) as url, httpx.AsyncClient(base_url=url) as client:

        async def counts() -> dict[tuple[str, ...], float]:
            return samples((await client.get("/metrics")).text, "embedding_cache_requests")

        assert await counts() == dict.fromkeys(
            [
                *(("query", outcome) for outcome in ("memory", "joined", "miss")),
                *(("passage", outcome) for outcome in ("memory", "database", "joined", "miss")),
            ],
            0.0,
        )
        stored = await client.put("/documents/a.md", json={"text": "El plazo es de 30 días."})
        assert stored.json()["pending"] == 0
        for _ in range(3):
            assert (await client.post("/search", json={"query": "plazo", "mode": "dense"})).status_code == 200
        results = await counts()
    assert results["query", "miss"] == 1
    assert results["query", "memory"] == 2
    assert results["passage", "miss"] == 1
    assert results["passage", "database"] == 0


async def test_who_asks_together_is_counted_as_joined(make_container: Callable[..., Any], serve: Serve) -> None:
    class Slow(HashingEmbedder):
        """Answers a query when two have asked for its text."""

        async def embed_query(self, text: str) -> Any:
            await both.wait()
            return await super().embed_query(text)

    both = asyncio.Event()
    container = await make_container(parts=Parts(embedder=Slow()))
    async with run_service(container) as app, serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        asked = [
            asyncio.create_task(client.post("/search", json={"query": "plazo", "mode": "dense"})) for _ in range(2)
        ]

        async def joined() -> float:
            return samples((await client.get("/metrics")).text, "embedding_cache_requests")["query", "joined"]

        async with asyncio.timeout(10):
            while await joined() < 1:  # noqa: ASYNC110 - what is waited for is the metric
                await asyncio.sleep(0.01)
        both.set()
        assert [answer.status_code for answer in await asyncio.gather(*asked)] == [200, 200]


async def test_without_a_memory_every_query_is_a_miss(make_container: Callable[..., Any], serve: Serve) -> None:
    container = await make_container(parts=Parts(embedder=HashingEmbedder()), embedding_cache_ttl=0)
    async with run_service(container) as app, serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        for _ in range(3):
            await client.post("/search", json={"query": "plazo", "mode": "dense"})
        results = samples((await client.get("/metrics")).text, "embedding_cache_requests")
    assert (results["query", "miss"], results["query", "memory"]) == (3, 0)


def test_entities_are_counted_by_why_they_were_shown() -> None:
    metrics = HttpMetrics()
    shown = [
        ("anchor:explicit_file_mention", "anchor:hydrated_previous_turn"),
        ("anchor:ast_calls",),
        ("semantic:0.85",),
        ("keyword:0.62",),
    ]
    hydration = Hydration(
        episode_id="e",
        turn=1,
        entities=tuple(
            HydratedEntity(
                planned=PlannedEntity(entity=ref(f"a.py::f{n}"), reasons=reasons, priority=90, tokens=9, position=n),
                text=text(f"a.py::f{n}"),
            )
            for n, reasons in enumerate(shown, start=1)
        ),
        dropped=(
            DroppedEntity(
                entity=ref("a.py::g"), reasons=("anchor:ast_calls",), priority=70, tokens=9, budget=DropReason.TOKENS
            ),
        ),
        warnings=(),
        use=HydrationUse(limits=HydrationLimits()),
    )
    before = metrics.exposition(backlog=None, pool={}).decode()
    assert samples(before, "hydrated_entities") == {("anchor",): 0, ("semantic",): 0, ("keyword",): 0}
    for _ in range(2):
        metrics.count_hydration(hydration)
    after = metrics.exposition(backlog=None, pool={}).decode()
    assert samples(after, "hydrated_entities") == {("anchor",): 4, ("semantic",): 2, ("keyword",): 2}
    assert samples(after, "hydration_dropped") == {(): 2}
