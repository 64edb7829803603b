"""Fills the budget left after the anchors with similar entities; falls back to keywords."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragcorp.application.embedding.query import embed_query
from ragcorp.application.hydration.candidate_lookup import CandidateLookup
from ragcorp.application.hydration.plan import has_room, plan
from ragcorp.application.resilience.circuit_breaker import Admission, CircuitBreaker, Verdict
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import (
    ConfigurationError,
    ConflictError,
    EmbedderUnavailableError,
    RagcorpError,
    SourceUnavailableError,
)
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.structure.entities import EntityIdentity
from ragcorp.domain.structure.hydration import (
    Anchor,
    HydrationCandidate,
    HydrationLimits,
    HydrationWarning,
    WarningCode,
)

logger = logging.getLogger(__name__)

SEMANTIC = "semantic"
KEYWORD = "keyword"
"""Names of the channels in ``degraded``."""

OUT = (SourceUnavailableError, ConflictError, ConfigurationError, TimeoutError)
"""Errors that count as an outage of a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Candidates, and the similarity of anchors; ``model`` is set where similarities were computed."""

    candidates: tuple[HydrationCandidate, ...] = ()
    scores: Mapping[EntityIdentity, float] = field(default_factory=dict)
    warnings: tuple[HydrationWarning, ...] = ()
    reports: tuple[SourceReport, ...] = ()
    model: str | None = None


class RoomFilling:
    """Embeds while anchors are looked up; waits for the vector only if similarity can change the result.

    ``breaker`` skips a model that keeps failing.
    """

    def __init__(
        self,
        *,
        embedder: Embedder,
        candidates: CandidateLookup,
        limits: HydrationLimits,
        threshold: float,
        breaker: CircuitBreaker,
    ) -> None:
        self._embedder = embedder
        self._candidates = candidates
        self._limits = limits
        self._threshold = threshold
        self._breaker = breaker

    def begin(self, asked: str, *, workspace: str, deadline: float) -> asyncio.Task[Vector | SourceReport] | None:
        """Start to embed; None without a model. The caller cancels the task at the end."""
        if self._embedder.model.dimensions == 0:
            return None
        return asyncio.create_task(self._embedded(asked, workspace=workspace, deadline=deadline))

    async def fill(
        self,
        query: str,
        anchors: Sequence[Anchor],
        embedding: asyncio.Task[Vector | SourceReport] | None,
        *,
        principal: Principal,
        filters: Filters,
        deadline: float,
    ) -> Filling:
        room = has_room(plan(anchors, (), limits=self._limits))
        if embedding is None:
            return await self._by_words(query, anchors, principal, filters, deadline) if room else Filling()
        if not room and not any(anchor.along for anchor in anchors):
            return Filling()
        embedded = await embedding
        if isinstance(embedded, SourceReport):
            return _structural_only(embedded)
        started = asyncio.get_running_loop().time()
        try:
            similar = await run_until(
                deadline,
                self._candidates.similar(embedded, anchored=_identities(anchors), principal=principal, filters=filters),
            )
        except OUT as error:
            return _structural_only(report_of(SEMANTIC, error, started=started))
        filling = Filling(candidates=similar.candidates, scores=similar.anchored, model=self._embedder.model.name)
        if similar.candidates or not room:
            return filling
        by_words = await self._by_words(query, anchors, principal, filters, deadline)
        shown = "what holds its words" if by_words.candidates else "nothing"
        warning = HydrationWarning(
            code=WarningCode.NO_SEMANTIC_CANDIDATES,
            message=f"Nothing else is more similar to the query than {self._threshold:.2f}: {shown} is shown beside the"
            " anchors. Lower SEMANTIC_THRESHOLD to see more.",
        )
        return replace(filling, candidates=by_words.candidates, reports=by_words.reports, warnings=(warning,))

    async def _embedded(self, query: str, *, workspace: str, deadline: float) -> Vector | SourceReport:
        clock = asyncio.get_running_loop().time
        started = clock()
        admission = self._breaker.admit([SEMANTIC], now=started, replaceable=True)[SEMANTIC]
        if admission is Admission.REFUSED:
            return SourceReport(source=SEMANTIC, outcome=SourceOutcome.SKIPPED, elapsed_ms=0.0, reason="circuit_open")
        verdict = Verdict.NOTHING
        try:
            vector = await run_until(deadline, embed_query(self._embedder, query, workspace=workspace))
            verdict = Verdict.WELL
        except (EmbedderUnavailableError, TimeoutError) as error:
            verdict = Verdict.FAILED
            return report_of(SEMANTIC, error, started=started)
        except Exception:  # the bug of a custom embedder is its outage: logged and named
            verdict = Verdict.FAILED
            logger.exception("the embedder raised an unexpected error")
            return report_of(SEMANTIC, EmbedderUnavailableError("out", reason="error"), started=started)
        else:
            return vector
        finally:
            self._breaker.settle(SEMANTIC, admission, verdict, now=clock())

    async def _by_words(
        self, query: str, anchors: Sequence[Anchor], principal: Principal, filters: Filters, deadline: float
    ) -> Filling:
        started = asyncio.get_running_loop().time()
        try:
            candidates = await run_until(
                deadline,
                self._candidates.by_words(query, anchored=_identities(anchors), principal=principal, filters=filters),
            )
        except OUT as error:
            return Filling(reports=(report_of(KEYWORD, error, started=started),))
        return Filling(candidates=candidates)


def report_of(source: str, error: RagcorpError | TimeoutError, *, started: float) -> SourceReport:
    elapsed_ms = round((asyncio.get_running_loop().time() - started) * 1000, 3)
    if isinstance(error, TimeoutError):
        return SourceReport(source=source, outcome=SourceOutcome.TIMEOUT, elapsed_ms=elapsed_ms, reason="timeout")
    reason = error.reason if isinstance(error, SourceUnavailableError) else error.code
    return SourceReport(source=source, outcome=SourceOutcome.FAILED, elapsed_ms=elapsed_ms, reason=reason)


def _identities(anchors: Sequence[Anchor]) -> frozenset[EntityIdentity]:
    return frozenset(anchor.entity.identity for anchor in anchors)


def _structural_only(report: SourceReport) -> Filling:
    logger.warning("hydration falls back to anchors alone: %s", report.reason)
    warning = HydrationWarning(
        code=WarningCode.STRUCTURAL_ONLY,
        message=f"Similarity could not be asked ({report.reason}): anchors alone are shown. Try again later.",
    )
    return Filling(warnings=(warning,), reports=(report,))
