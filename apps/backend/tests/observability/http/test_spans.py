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
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ragcorp.domain.answers import AnswerDelta, AnswerEvent, AnswerPrompt
from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.main.service.app import run_app
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring import tracing
from ragcorp.main.wiring.container import Container
from support.processes.otlp_collector import otlp_collector

pytestmark = pytest.mark.anyio

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CANARY = "canarybird"
BACKEND = Path(__file__).resolve().parents[3]


@asynccontextmanager
async def asked(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        run_app(container) as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield client


def attributes(span: Span) -> dict[str, Any]:
    return {each.key: getattr(each.value, str(each.value.WhichOneof("value"))) for each in span.attributes}


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
            async with container.database.driver_transaction("default"):
                raise ValueError(CANARY)
        await container.tracing.aclose()
    assert [attributes(span)["error.type"] for span in collector.spans if is_failed(span)] == ["ValueError"]
    assert CANARY.encode() not in collector.raw


class Endless:
    """Goes on writing."""

    name = "endless"

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        while True:
            yield AnswerDelta(text=prompt.question)

    async def aclose(self) -> None:
        pass


async def test_who_leaves_an_answer_that_is_being_written_leaves_a_failed_span(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with otlp_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")  # only the end sends
        wiring = tracing.make_tracing(load_settings({"enable_tracing": True}))
        prompt = AnswerPrompt(question=CANARY, language="es", workspace="default", passages=())
        async with aclosing(wiring.answerer(Endless()).answer(prompt)) as events:
            await anext(events)
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


async def test_off_nothing_is_wrapped_and_the_package_is_not_imported(make_container: Callable[..., Any]) -> None:
    container = await make_container()
    assert type(container.database).__name__ == "Database"
    assert isinstance(container.tracing, tracing.Untraced)
    asked_for = "'opentelemetry.sdk' in sys.modules or 'ragcorp.infrastructure.otel.tracer' in sys.modules"
    script = f"import sys, ragcorp.main.service.app, ragcorp.main.commands.cli; sys.exit({asked_for})"
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, cwd=BACKEND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert await done.wait() == 0


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="otel"):
        tracing.make_tracing(load_settings({"enable_tracing": True}))
