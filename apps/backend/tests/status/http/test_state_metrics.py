"""Metrics under their types and with labels that no caller can invent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ragcorp.application.limits.slot_limiter import SlotLimiter
from ragcorp.domain import exceptions as domain
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.monitoring.metrics import HttpMetrics, ServiceState, reason_label
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from support.http.fakes import World
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(text: str, name: str, **labels: str) -> float:
    return samples(text)[(name, tuple(sorted(labels.items())))]


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("timeout", "timeout"),
        ("sqlstate_57014", "sqlstate_57014"),
        ("filter:canary,title", "filter"),
        ("syntax:websearch", "syntax"),
        ("Canary said so", "other"),
        ("", "other"),
        ("a" * 41, "other"),
    ],
)
def test_a_reason_as_a_label_names_nothing_of_a_caller(reason: str, label: str) -> None:
    assert reason_label(reason) == label


def test_the_pools_counters_have_their_types_and_units() -> None:
    metrics = HttpMetrics()
    text = metrics.exposition(
        backlog=None, pool={"pool_size": 4, "requests_waiting": 2, "requests_wait_ms": 1500, "requests_num": 7}
    ).decode()
    assert "# TYPE database_pool gauge" in text
    assert "# TYPE database_pool_wait_seconds_total counter" in text
    assert value(text, "database_pool", statistic="requests_waiting") == 2
    assert value(text, "database_pool_wait_seconds_total") == 1.5
    assert value(text, "database_pool_requests_total") == 7
    assert ("database_pool", (("statistic", "requests_num"),)) not in samples(text)


async def test_what_is_read_at_that_moment(world: World, make_client: Callable[[Any], httpx.AsyncClient]) -> None:
    states, dropped = {"dense": "closed"}, [0]
    state = ServiceState(
        breakers=lambda: states, dropped_lines=lambda: dropped[0], build=lambda: {"version": "7"}, schema=lambda: None
    )
    app = create_app(world.services(state=state), HttpLimits())
    app.state.metrics.tokens_used(prompt=5, completion=3)
    async with make_client(app) as client:
        before = (await client.get("/metrics")).text
        states["dense"], dropped[0] = "open", 3
        after = (await client.get("/metrics")).text
    assert [value(text, "breaker_state", source="dense") for text in (before, after)] == [0, 2]
    assert [value(text, "log_lines_dropped_total") for text in (before, after)] == [0, 3]
    assert value(after, "llm_tokens_total", kind="prompt") == 5
    assert value(after, "llm_tokens_total", kind="completion") == 3
    assert value(after, "build_info", version="7") == 1
    assert value(after, "admission_requests", state="waiting") == 0


def test_an_open_stream_is_counted_while_it_lasts() -> None:
    metrics = HttpMetrics()
    metrics.watch(ServiceState(), admission=SlotLimiter(slots=1))
    metrics.open_streams.inc()
    assert value(metrics.exposition(backlog=None, pool={}).decode(), "open_streams") == 1
    metrics.open_streams.dec()
    assert value(metrics.exposition(backlog=None, pool={}).decode(), "open_streams") == 0


async def test_the_circuit_of_a_source_is_seen_to_open(
    make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    class Out(HashingEmbedder):
        async def embed_query(self, text: str) -> Any:
            raise domain.EmbedderUnavailableError("out", reason="unreachable")

    container = await make_container(parts=Parts(embedder=Out()), enable_hybrid_search=True, circuit_breaker_failures=2)
    async with run_service(container) as app, make_client(app) as client:
        await client.put("/documents/a", json={"text": "El plazo es largo."})
        before = (await client.get("/metrics")).text
        for number in range(2):
            answer = await client.post("/search", json={"query": f"plazo {number}"})
            assert answer.status_code == 200
        after = (await client.get("/metrics")).text
    assert value(before, "breaker_state", source="dense") == 0
    assert value(after, "breaker_state", source="dense") == 2
    assert value(after, "breaker_state", source="full_text") == 0
    assert value(after, "degraded_total", source="dense", reason="unreachable") == 2
    assert value(after, "open_streams") == 0
