"""Traces of a real service: a span for each thing that a request had done, and nothing of what was asked."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragcorp import tracing as spans
from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.application.hydration.passages import hydrated_chunks
from ragcorp.domain.answers import AnswerDelta, AnswerEvent, AnswerPrompt
from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.main.service.app import run_service
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring import tracing
from ragcorp.main.wiring.container import Container
from support.hydration.shown import hydrated, turn
from support.memory.conversations import NO_PAGES, FoundAlready, Spanish
from support.processes.otlp_collector import otlp_collector
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CANARY = "canarybird"
BACKEND = Path(__file__).resolve().parents[3]


@asynccontextmanager
async def asked(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        run_service(container) as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield client


def attributes(span: Span) -> dict[str, Any]:
    return {item.key: getattr(item.value, str(item.value.WhichOneof("value"))) for item in span.attributes}


def is_failed(span: Span) -> bool:
    return bool(span.status.code == span.status.STATUS_CODE_ERROR)


async def test_a_request_is_a_tree_of_spans(
    make_container: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with otlp_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")  # only the end sends
        container = await make_container(enable_tracing=True, enable_hybrid_search=True)
        async with asked(container) as client:
            await client.put(f"/documents/{CANARY}-id", json={"text": f"El plazo {CANARY}.", "title": CANARY})
            answer = await client.post(
                "/search",
                json={"query": f"plazo {CANARY}", "mode": "hybrid", "facets": True},
                headers={"traceparent": f"00-{TRACE}-{PARENT}-01"},
            )
            assert answer.status_code == 200, answer.text
            await client.post("/ask", json={"query": f"¿Qué plazo {CANARY}?"})
            await client.get(f"/documents/{CANARY}-other")
        await container.tracing.aclose()
    names = {span.name for span in collector.spans}
    assert {"PUT /documents/{external_id}", "POST /search", "POST /ask", "GET /documents/{external_id}"} <= names
    assert {"source dense", "source full_text", "embed query", "fuse", "database", "answer"} <= names
    assert {"step describe", "step visibility"} <= names
    assert [(span.name, attributes(span)) for span in collector.spans if is_failed(span)] == []
    assert "not_found" in {attributes(span).get("ragcorp.refused") for span in collector.spans}
    (search,) = [span for span in collector.spans if span.name == "POST /search"]
    assert (search.trace_id.hex(), search.parent_span_id.hex()) == (TRACE, PARENT)
    assert attributes(search) == {
        "http.request.method": "POST",
        "http.route": "/search",
        "http.response.status_code": 200,
    }
    ours = {span.span_id: span for span in collector.spans if span.trace_id == search.trace_id}
    (dense,) = [span for span in ours.values() if span.name == "source dense"]
    assert dense.parent_span_id == search.span_id
    assert attributes(dense)["ragcorp.hits"] == 1
    inner = [span.name for span in ours.values() if span.parent_span_id == dense.span_id]
    assert sorted(inner) == ["database", "embed query"]
    assert collector.services == {"ragcorp"}
    assert CANARY.encode() not in collector.raw


async def test_what_fails_is_marked_by_its_reason(
    make_container: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with otlp_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")  # only the end sends
        container = await make_container(enable_tracing=True)
        with pytest.raises(ValueError, match=CANARY):
            async with container.database.transaction("default"):
                raise ValueError(CANARY)
        await container.tracing.aclose()
    assert [attributes(span)["error.type"] for span in collector.spans if is_failed(span)] == ["ValueError"]
    assert CANARY.encode() not in collector.raw


class Endless:
    """Goes on writing."""

    name = "endless"

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        while True:
            yield AnswerDelta(text=f"{prompt.question} [1]. ")

    async def aclose(self) -> None:
        pass


async def test_who_leaves_an_answer_that_is_being_written_leaves_a_failed_span(monkeypatch: pytest.MonkeyPatch) -> None:
    async with otlp_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")  # only the end sends
        wiring = tracing.make_tracing(load_settings({"enable_tracing": True}))
        assert wiring is not None
        answer = AnswerQuery(
            search=FoundAlready(hydrated_chunks(turn(hydrated("a.go::one", "one", line=1)))),
            answerer=Endless(),
            languages=Spanish(),
            pages=NO_PAGES,
            limits=AnswerLimits(),
        )
        async with aclosing(answer.stream(SearchRequest(query=CANARY), principal=ANYONE)) as events:
            while not isinstance(await anext(events), AnswerDelta):
                pass
        await wiring.aclose()
    assert [(span.name, is_failed(span), attributes(span)["error.type"]) for span in collector.spans] == [
        ("answer", True, "left")
    ]


async def test_a_collector_that_is_gone_holds_nothing_up(
    make_container: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3")  # more than it is waited for
    container = await make_container(enable_tracing=True)
    async with asked(container) as client:
        assert (await client.post("/search", json={"query": "a"})).status_code == 200
    async with asyncio.timeout(30):
        await container.tracing.aclose()


async def test_off_nothing_is_exported_and_the_sdk_is_not_imported(make_container: Callable[..., Any]) -> None:
    container = await make_container()
    assert container.tracing is None
    asked_for = "'opentelemetry.sdk' in sys.modules or 'ragcorp.infrastructure.otel.exporting' in sys.modules"
    script = f"import sys, ragcorp.main.service.app, ragcorp.main.commands.cli; sys.exit({asked_for})"
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, cwd=BACKEND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert await done.wait() == 0


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="otel"):
        tracing.make_tracing(load_settings({"enable_tracing": True}))


async def test_the_providers_of_a_host_application_receive_the_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(spans, "_HOST", trace.get_tracer(spans.NAME))
    spans.trace_with(None)
    try:
        with spans.ParentSpan("outer"), spans.Span("inner", hits=1):
            pass
    finally:
        monkeypatch.undo()
        spans.trace_with(None)
    inner, outer = exporter.get_finished_spans()
    assert (inner.name, dict(inner.attributes or {})) == ("inner", {"ragcorp.hits": 1})
    assert inner.parent == outer.context
