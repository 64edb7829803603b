"""Judges whether the service can serve. One look at the database serves every caller within a second."""

import asyncio
from collections.abc import Awaitable, Callable

from ragcorp.domain.diagnosis import Finding, NotReadyError, SearchFacts
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import RagcorpError

KEPT_SECONDS = 1.0
UNKNOWN = "unknown"


class Readiness:
    """Looks at the database and caches the outcome for ``KEPT_SECONDS``."""

    def __init__(
        self, *, look: Callable[[], Awaitable[SearchFacts]], model: EmbeddingModel, head: str, now: Callable[[], float]
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
        """Raises NotReadyError, or the error of the look itself."""
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
            facts = await self._look()
            revision = facts.revision or "none"
            findings = findings_of(facts, model=self._model, head=self._head)
            if not all(finding.ok for finding in findings):
                self._error = NotReadyError.of(findings)
        except RagcorpError as error:
            self._error = error
        except BaseException:
            self._seen = (False, UNKNOWN)
            raise
        self._seen = (self._error is None, revision)
        self._until = self._now() + KEPT_SECONDS


def findings_of(facts: SearchFacts, *, model: EmbeddingModel, head: str) -> list[Finding]:
    """Return the findings on schema, indexes, vectors and text search."""
    return [
        # migrations only add, and revisions are numbers: an older version keeps working while instances are replaced
        _finding(
            "schema",
            facts.revision == head or _is_newer(facts.revision, head),
            says="The database schema is not the one that this version needs.",
            remedy="Run `ragcorp migrate`.",
        ),
        _finding(
            "indexes",
            not facts.invalid_indexes,
            reason="invalid_index",
            says=f"An index build was interrupted: {', '.join(facts.invalid_indexes)} is invalid.",
            remedy="Run `ragcorp migrate`: it rebuilds them.",
        ),
        # of the service's own model, active or not: a service of the old model keeps working after a re-embedding
        _finding(
            "vectors",
            model.dimensions == 0 or model.dimensions in facts.widths,
            reason="vector_width",
            says="The database has no vectors of the model and width that this service makes.",
            remedy="Set EMBEDDING_MODEL and EMBEDDING_DIM to the stored ones, or run `ragcorp reembed`; then restart.",
        ),
        _finding(
            "text_search",
            facts.has_spanish,
            says="The text search configuration 'spanish' is missing.",
            remedy="Install the server's snowball dictionaries (they belong to every standard PostgreSQL).",
        ),
    ]


def _finding(check: str, ok: bool, *, says: str, remedy: str, reason: str | None = None) -> Finding:
    if ok:
        return Finding(check=check, ok=True)
    return Finding(check=check, ok=False, reason=reason or check, says=says, remedy=remedy)


def _is_newer(revision: str | None, head: str) -> bool:
    return revision is not None and revision.isdigit() and int(revision) > int(head)
