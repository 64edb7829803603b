"""Spans over the OpenTelemetry API. Without a tracer provider they cost two calls and record nothing.

A host application's provider receives them; ENABLE_TRACING sends them by OTLP (``infrastructure/otel``). No attribute
may contain a user's text.
"""

from collections.abc import Mapping
from contextvars import Token
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ragcorp.domain.exceptions import (
    ConflictError,
    FileAccessError,
    InvalidInputError,
    NotFoundError,
    SourceUnavailableError,
)

NAME = "ragcorp"
REFUSALS = (InvalidInputError, NotFoundError, ConflictError, FileAccessError)
"""Errors that tell a caller about the request: the work itself did not fail."""

CONVENTIONS = {"route": "http.route", "method": "http.request.method", "status": "http.response.status_code"}
"""Attributes that OpenTelemetry's semantic conventions name; the others get the prefix ``ragcorp.``."""

Value = str | int | float | bool


@dataclass(slots=True)
class _Current:
    tracer: trace.Tracer


_HOST = trace.get_tracer(NAME)
_CURRENT = _Current(_HOST)
_PROPAGATOR = TraceContextTextMapPropagator()


def trace_with(provider: trace.TracerProvider | None) -> None:
    """Send spans to a provider of ragcorp's own; with None to the process's provider again, if it has one."""
    _CURRENT.tracer = _HOST if provider is None else provider.get_tracer(NAME)


class Span:
    """A piece of work, as a context manager. An exception marks it as failed by its type or reason alone.

    A span without children may be left in another context than it was entered in, as asynchronous generators do.

    >>> with Span("fuse", lists=2) as span:
    ...     span.note(hits=10)
    """

    __slots__ = ("_span", "_token")

    def __init__(self, name: str, **attributes: Value) -> None:
        self._span = _start(name)
        self._token: Token[contexts.Context] | None = None
        if attributes:
            self.note(**attributes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._token is not None:
            contexts.detach(self._token)
        if error is not None:
            self._mark(error)
        self._span.end()

    def note(self, **attributes: Value) -> None:
        if self._span.is_recording():
            self._span.set_attributes(
                {CONVENTIONS.get(name, f"{NAME}.{name}"): value for name, value in attributes.items()}
            )

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def fail(self, reason: str) -> None:
        """Mark the work as failed. ``reason`` is short and stable."""
        self._span.set_attribute("error.type", reason)
        self._span.set_status(Status(StatusCode.ERROR))

    def _mark(self, error: BaseException) -> None:
        if isinstance(error, REFUSALS):
            self.note(refused=error.code)
        elif isinstance(error, SourceUnavailableError):
            self.fail(str(getattr(error, "reason", error.code)))
        else:
            self.fail("left" if isinstance(error, GeneratorExit) else type(error).__name__)


class ParentSpan(Span):
    """A span whose children are those that begin inside it, in the same context (``contextvars``)."""

    __slots__ = ()

    def __enter__(self) -> Self:
        if self._span.get_span_context().is_valid:
            self._token = contexts.attach(trace.set_span_in_context(self._span))
        return self


class RequestSpan(ParentSpan):
    """The span of an HTTP request, a child of the one that its ``traceparent`` header (W3C) names."""

    __slots__ = ()

    def __init__(self, headers: Mapping[str, str]) -> None:
        parent = _PROPAGATOR.extract(headers) if "traceparent" in headers else None
        self._span = _start("request", kind=SpanKind.SERVER, context=parent)
        self._token = None


def note_refusal(error: BaseException) -> None:
    """Record the code of a refusal on the current span: the exception itself does not leave it."""
    if isinstance(error, REFUSALS):
        trace.get_current_span().set_attribute(f"{NAME}.refused", error.code)


def _start(name: str, *, kind: SpanKind = SpanKind.INTERNAL, context: contexts.Context | None = None) -> trace.Span:
    tracer = _CURRENT.tracer
    if tracer is _HOST and context is None and getattr(trace, "_TRACER_PROVIDER", trace) is None:
        return trace.INVALID_SPAN  # what the API returns without a provider, after twenty calls
    return tracer.start_span(name, context=context, kind=kind, record_exception=False, set_status_on_exception=False)
