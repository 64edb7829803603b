"""Traces by OpenTelemetry, sent by OTLP over HTTP. Where to is OTEL_EXPORTER_OTLP_ENDPOINT's business."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ragcorp.domain.exceptions import (
    ConflictError,
    FileAccessError,
    InvalidInputError,
    NotFoundError,
    SourceUnavailableError,
)
from ragcorp.domain.ports.tracing import Span, SpanValue

FLUSH_SECONDS = 2.0
REQUEST = "request"
ANSWERS = (InvalidInputError, NotFoundError, ConflictError, FileAccessError)
"""What tells the caller about the caller's own request: the work was done."""

PREFIX = "ragcorp."


class _OtelSpan:
    """A span of the SDK under the port's names; those without a dot get a prefix of ours."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, **values: SpanValue) -> None:
        self._span.set_attributes(_attributes(values))

    def fail(self, reason: str) -> None:
        self._span.set_attribute("error.type", reason)
        self._span.set_status(Status(StatusCode.ERROR))

    def rename(self, name: str) -> None:
        self._span.update_name(name)


class OtelTracer:
    """The port Tracer. It has a provider of its own: the global one stays whoever's it is."""

    def __init__(self, *, version: str, exporter: SpanExporter | None = None) -> None:
        self._provider = TracerProvider(resource=_resource(version), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("ragcorp", version)
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, **values: SpanValue) -> Iterator[Span]:
        with self._tracer.start_as_current_span(
            name, attributes=_attributes(values), record_exception=False, set_status_on_exception=False
        ) as span:
            yield from _watched(_OtelSpan(span))

    @contextmanager
    def leaf(self, name: str, **values: SpanValue) -> Iterator[Span]:
        span = self._tracer.start_span(
            name, attributes=_attributes(values), record_exception=False, set_status_on_exception=False
        )
        try:
            yield from _watched(_OtelSpan(span))
        finally:
            span.end()

    @contextmanager
    def request(self, headers: Mapping[str, str]) -> Iterator[Span]:
        with self._tracer.start_as_current_span(
            REQUEST,
            context=self._propagator.extract(headers),
            kind=SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield from _watched(_OtelSpan(span))

    async def aclose(self) -> None:
        """A collector that does not answer holds up the end for no longer than ``FLUSH_SECONDS``."""
        loop = asyncio.get_running_loop()
        flushed = loop.run_in_executor(None, self._provider.force_flush, int(FLUSH_SECONDS * 1000))
        await asyncio.wait([flushed], timeout=FLUSH_SECONDS)


def _watched(span: _OtelSpan) -> Iterator[Span]:
    try:
        yield span
    except SourceUnavailableError as error:
        span.fail(str(getattr(error, "reason", error.code)))
        raise
    except ANSWERS as answer:
        span.note(refused=answer.code)
        raise
    except GeneratorExit:  # whoever listened has left
        span.fail("left")
        raise
    except BaseException as error:
        span.fail(type(error).__name__)
        raise


def _attributes(values: Mapping[str, SpanValue]) -> dict[str, SpanValue]:
    return {NAMES.get(name, PREFIX + name): value for name, value in values.items()}


NAMES = {
    "route": "http.route",
    "method": "http.request.method",
    "status": "http.response.status_code",
}
"""Names of ours that OpenTelemetry's conventions know."""


def _resource(version: str) -> Resource:
    """Return what the spans are of; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over our name."""
    resource = Resource.create({"service.version": version})
    if str(resource.attributes.get("service.name", "unknown_service")).startswith("unknown_service"):
        return resource.merge(Resource({"service.name": "ragcorp"}))
    return resource
