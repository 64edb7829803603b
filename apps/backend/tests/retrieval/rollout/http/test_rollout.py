"""What an operator sees of a roll-out: GET /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

MakeClient = Callable[[Any], httpx.AsyncClient]


async def values(client: httpx.AsyncClient) -> dict[str, float]:
    """Return the samples as ``name{label=value}``."""
    text = (await client.get("/metrics")).text
    return {
        sample.name + "".join(f"{{{name}={value}}}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


class Ended:
    """Lets a test wait for the next shadow."""

    def __init__(self) -> None:
        self.outcomes: asyncio.Queue[str] = asyncio.Queue()

    def rollout_set(self, *, percent: float, shadow: bool) -> None:
        return None

    def arm_served(self, arm: object, *, profile: str) -> None:
        return None

    def shadow_ended(self, outcome: str, *, overlap: float | None) -> None:
        self.outcomes.put_nowait(outcome)


async def test_arms_and_the_settings_in_force(make_container: Callable[..., Any], make_client: MakeClient) -> None:
    container = await make_container(hybrid_rollout_percent=12.5)
    async with run_service(container) as app, make_client(app) as client:
        await client.put("/documents/a.md", json={"text": "El plazo es de 30 días."})
        for number in range(40):
            answer = await client.post("/search", json={"query": f"plazo {number}"})
            assert answer.status_code == 200
        assert (await client.post("/search", json={"query": "plazo", "mode": "hybrid"})).status_code == 200
        assert (await client.post("/ask", json={"query": "plazo"})).status_code == 200
        results = await values(client)
    assert results["hybrid_rollout_percent"] == 12.5
    assert results["hybrid_shadow"] == 0
    # two of the forty have a bucket below 1250: printf 'default\0plazo 0' | sha256sum, and so on
    assert results["search_arms_total{arm=new}{profile=hybrid_rrf}"] == 2
    assert results["search_arms_total{arm=old}{profile=dense}"] == 38 + 1
    assert results["shadow_searches_total{outcome=dropped}"] == 0


async def test_shadows_by_outcome_and_their_overlap(
    make_container: Callable[..., Any], make_client: MakeClient
) -> None:
    source = ScriptedSource(name="mine")
    container = await make_container(
        parts=Parts(embedder=HashingEmbedder(), sources={"mine": source}), hybrid_shadow=True
    )
    ended = Ended()
    container.search_parts.rollout_observers.add(ended)
    async with run_service(container) as app, make_client(app) as client:
        await client.put("/documents/a.md", json={"text": "El plazo es de 30 días."})
        for error in (None, RuntimeError("a bug")):
            source.error = error
            answer = await client.post("/search", json={"query": "plazo"})
            assert answer.json()["mode_used"] == "dense"
            await asyncio.wait_for(ended.outcomes.get(), timeout=20)
        results = await values(client)
    assert results["hybrid_rollout_percent"] == 0
    assert results["hybrid_shadow"] == 1
    assert results["search_arms_total{arm=old}{profile=dense}"] == 2
    assert results["shadow_searches_total{outcome=same}"] == 1
    assert results["shadow_searches_total{outcome=degraded}"] == 1
    assert results["shadow_searches_total{outcome=failed}"] == 0
    assert results["shadow_overlap_at_10_count"] == 1
    assert results["shadow_overlap_at_10_bucket{le=0.9}"] == 0
    assert results["shadow_overlap_at_10_bucket{le=1.0}"] == 1
    # a shadow's sources are its own: what answers do is counted as it was
    assert results["source_requests_total{outcome=ok}{source=dense}"] == 2
