"""Judges what /readyz looks at; one look serves everybody who asks within a second."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.infrastructure.postgres.administration.readiness import Sight
from ragcorp.interface.http.monitoring.readiness import Finding, NotReadyError

KEPT_SECONDS = 1.0
UNKNOWN = "unknown"


class Readiness:
    """Looks at the database. The last look is kept for ``KEPT_SECONDS``, whatever it found; ``seen`` tells it."""

    def __init__(
        self, *, look: Callable[[], Awaitable[Sight]], model: EmbeddingModel, head: str, now: Callable[[], float]
    ) -> None:
        self._look = look
        self._model = model
        self._head = head
        self._now = now
        self._lock = asyncio.Lock()
        self._until = -1.0
        self._error: RagcorpError | None = None
        self._seen: tuple[bool, str] | None = None

    async def __call__(self) -> None:
        """Raises NotReadyError, or what the look itself raised."""
        async with self._lock:
            if self._now() >= self._until:
                await self._refresh()
        if self._error is not None:
            raise self._error.with_traceback(None)

    def seen(self) -> tuple[bool, str] | None:
        """Return whether the last look found the service ready, and the schema's revision; None before the first."""
        return self._seen

    async def _refresh(self) -> None:
        self._error = None
        revision = UNKNOWN
        try:
            sight = await self._look()
            revision = sight.revision or "none"
            findings = findings_of(sight, model=self._model, head=self._head)
            if not all(finding.ok for finding in findings):
                self._error = NotReadyError.of(findings)
        except RagcorpError as error:
            self._error = error
        except BaseException:
            self._seen = (False, UNKNOWN)
            raise
        self._seen = (self._error is None, revision)
        self._until = self._now() + KEPT_SECONDS


def findings_of(sight: Sight, *, model: EmbeddingModel, head: str) -> list[Finding]:
    return [_schema(sight, head), _indexes(sight), _vectors(sight, model), _text_search(sight)]


def _schema(sight: Sight, head: str) -> Finding:
    if sight.revision == head or _is_newer(sight.revision, head):
        return Finding(check="schema", ok=True)
    return Finding(
        check="schema",
        ok=False,
        reason="schema",
        says="The database schema is not the one that this version needs.",
        remedy="Run `ragcorp migrate`.",
    )


def _is_newer(revision: str | None, head: str) -> bool:
    """Migrations add, and revisions are numbers: the version before serves on while instances are replaced."""
    return revision is not None and revision.isdigit() and int(revision) > int(head)


def _indexes(sight: Sight) -> Finding:
    if not sight.invalid_indexes:
        return Finding(check="indexes", ok=True)
    return Finding(
        check="indexes",
        ok=False,
        reason="invalid_index",
        says=f"An index build was interrupted: {', '.join(sight.invalid_indexes)} is invalid.",
        remedy="Run `ragcorp migrate`: it rebuilds them.",
    )


def _vectors(sight: Sight, model: EmbeddingModel) -> Finding:
    """Look for the service's own model, active or not: a service of the old one serves on after a re-embedding."""
    if model.dimensions == 0 or model.dimensions in sight.widths:
        return Finding(check="vectors", ok=True)
    return Finding(
        check="vectors",
        ok=False,
        reason="vector_width",
        says="The database holds no vectors of the model and width that this service makes.",
        remedy="Set EMBEDDING_MODEL and EMBEDDING_DIM to the stored ones, or run `ragcorp reembed`; then restart.",
    )


def _text_search(sight: Sight) -> Finding:
    if sight.has_spanish:
        return Finding(check="text_search", ok=True)
    return Finding(
        check="text_search",
        ok=False,
        reason="text_search",
        says="The text search configuration 'spanish' is missing.",
        remedy="Install the server's snowball dictionaries (they belong to every standard PostgreSQL).",
    )
