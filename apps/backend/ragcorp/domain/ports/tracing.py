"""The port of tracing: spans around what a request has done for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

SpanValue = str | int | float | bool


class Span(Protocol):
    """One piece of work, from when it is entered to when it is left. No value may hold a user's text."""

    def note(self, **values: SpanValue) -> None: ...

    def rename(self, name: str) -> None: ...

    def fail(self, reason: str) -> None:
        """Mark the work as failed; ``reason`` is short and stable."""
        ...


class Tracer(Protocol):
    """Begins spans. A span begun inside another one, in the same context (``contextvars``), is its child."""

    def span(self, name: str, **values: SpanValue) -> AbstractContextManager[Span]:
        """Return a span to enter. An exception that leaves it marks it as failed, by its type alone."""
        ...

    def leaf(self, name: str, **values: SpanValue) -> AbstractContextManager[Span]:
        """Return a span that gets no children. It may be left in another context than it was entered in."""
        ...

    def request(self, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
        """Return the span of a request, a child of the one that its ``traceparent`` (W3C) names."""
        ...

    async def aclose(self) -> None:
        """Send what was recorded, for a bounded time."""
        ...


Watch = Callable[[str], AbstractContextManager[object]]
"""Watches a step by its name, for as long as it takes."""
