"""Runs the steps after fusion over the whole window: decay, deduplication, visibility, reranking, diversification."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ragcorp.application.resilience.degradation_log import log_outage
from ragcorp.application.resilience.time_bound import TimeBound
from ragcorp.application.retrieval.search.list_fusion import Ranking
from ragcorp.application.retrieval.search.step_ranks import StepOrder
from ragcorp.application.retrieval.steps import deduplication as artifact_deduplication
from ragcorp.application.retrieval.steps import diversification, temporal_decay, visibility_policy
from ragcorp.application.retrieval.steps.deduplication import ArtifactDeduplication
from ragcorp.application.retrieval.steps.reranking import Reranking
from ragcorp.application.retrieval.steps.visibility_policy import VisibilityPolicy
from ragcorp.domain.exceptions import InvalidRankingError, SourceUnavailableError, StorageUnavailableError
from ragcorp.domain.ports.collections import CandidateStore, Reranker
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import HitKey, SourceOutcome, SourceReport
from ragcorp.domain.search.candidates import Candidate, StepOutcome, StepReport
from ragcorp.tracing import ParentSpan, Span

logger = logging.getLogger(__name__)

RERANK = "rerank"
"""The name of the reranker in reports."""

DESCRIBE = "describe"
DIVERSIFY = diversification.STEP


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankLimits:
    """How many candidates a reranker scores, and how long it may take.

    ``reserve_seconds`` of a search are left for what follows.
    """

    pool_size: int = 20
    timeout_seconds: float = 2.0
    reserve_seconds: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """The window after the steps, what each step did, and reports of what did not do its part, or of the reranker.

    ``candidates`` is None where nothing could be learnt of them in time: then no step was taken. ``orders`` are those
    of the steps that were taken, if they were asked for.
    """

    candidates: tuple[Candidate, ...] | None
    steps: tuple[StepReport, ...]
    reports: tuple[SourceReport, ...] = ()
    orders: tuple[StepOrder, ...] = ()


class StepPipeline:
    """Applies a profile's steps to a ranking. Two round trips at most, and one more for a reranker's texts."""

    def __init__(
        self,
        *,
        store: CandidateStore,
        reranker: Reranker | None = None,
        rerank_limits: RerankLimits | None = None,
    ) -> None:
        self._store = store
        self._reranker = reranker
        self._rerank_limits = rerank_limits or RerankLimits()
        self._time_bound = TimeBound()

    def wanted(self, ranking: Ranking, *, facets: bool) -> bool:
        """Say whether the ranking's profile has a step for which candidates must be known."""
        steps = ranking.profile.steps
        reranks = steps.rerank and self._reranker is not None
        return facets or reranks or steps.deduplicate or steps.decay is not None or steps.diversify is not None

    async def apply(
        self,
        ranking: Ranking,
        *,
        query: str,
        principal: Principal,
        now: datetime,
        deadline: float,
        explain: bool = False,
    ) -> PipelineResult:
        """Return the candidates in their final order. The order never depends on how many of them are wanted.

        What cannot be read before the deadline leaves its step out, and is named. ``explain`` asks for the orders.
        """
        steps = ranking.profile.steps
        started = time.perf_counter()
        try:
            with ParentSpan(f"step {DESCRIBE}"):
                outcome = await self._time_bound.run(self._described(ranking, principal), deadline=deadline)
        except (TimeoutError, StorageUnavailableError) as error:
            count = len(ranking.hits)
            skipped = StepReport(step=DESCRIBE, before=count, after=count, skipped=_reason(error))
            return PipelineResult(candidates=None, steps=(skipped,), reports=(step_out(DESCRIBE, error, started),))
        taken = [outcome]
        if steps.decay is not None:
            with ParentSpan(f"step {temporal_decay.STEP}"):
                outcome = steps.decay.apply(outcome.candidates, now=now)
            taken.append(outcome)
        if steps.deduplicate:
            with ParentSpan(f"step {artifact_deduplication.STEP}"):
                outcome = ArtifactDeduplication().apply(outcome.candidates)
            taken.append(outcome)
        with ParentSpan(f"step {visibility_policy.STEP}"):
            outcome = VisibilityPolicy().apply(outcome.candidates, principal=principal)
        taken.append(outcome)
        reports: list[SourceReport] = []
        if steps.rerank and self._reranker is not None:
            with ParentSpan(f"step {RERANK}"):
                outcome, report = await self._reranked(self._reranker, outcome.candidates, query, principal, deadline)
            taken.append(outcome)
            reports.append(report)
        if steps.diversify is not None:
            keys = [candidate.key for candidate in steps.diversify.pool(outcome.candidates)]
            started = time.perf_counter()
            try:
                look = self._store.features(keys, principal=principal)
                with ParentSpan(f"step {DIVERSIFY}"):
                    features = await self._time_bound.run(look, deadline=deadline)
            except (TimeoutError, StorageUnavailableError) as error:
                count = len(outcome.candidates)
                skipped = StepReport(step=DIVERSIFY, before=count, after=count, skipped=_reason(error))
                taken.append(StepOutcome(candidates=outcome.candidates, report=skipped))
                reports.append(step_out(DIVERSIFY, error, started))
            else:
                outcome = steps.diversify.apply(outcome.candidates, features)
                taken.append(outcome)
        return PipelineResult(
            candidates=outcome.candidates,
            steps=tuple(each.report for each in taken),
            reports=tuple(reports),
            orders=_orders(ranking, taken) if explain else (),
        )

    async def _described(self, ranking: Ranking, principal: Principal) -> StepOutcome:
        """Return the hits with what is stored of them; what is gone, or may not be read, is left out."""
        known = await self._store.describe([item.hit.key for item in ranking.hits], principal=principal)
        candidates = tuple(
            Candidate(fused=item, score=item.score, description=known[item.hit.key])
            for item in ranking.hits
            if item.hit.key in known
        )
        return StepOutcome(
            candidates=candidates,
            report=StepReport(
                step=DESCRIBE,
                before=len(ranking.hits),
                after=len(candidates),
                formula="what is stored no more is left out",
            ),
        )

    async def _reranked(
        self,
        reranker: Reranker,
        candidates: tuple[Candidate, ...],
        query: str,
        principal: Principal,
        deadline: float,
    ) -> tuple[StepOutcome, SourceReport]:
        """Return the candidates in the reranker's order; where it is out, in their own, and its report says why."""
        reranking = Reranking(reranker=reranker.name, pool_size=self._rerank_limits.pool_size)
        pool = reranking.pool(candidates)
        started = time.perf_counter()
        reason: str | None = None
        keys: list[HitKey] = []
        outcome = SourceOutcome.OK
        judged = reranking.apply(candidates, {})
        until = self._rerank_deadline(deadline)
        try:
            look = self._store.read([candidate.key for candidate in pool], principal=principal)
            texts = await self._time_bound.run(look, deadline=until)
            keys = [candidate.key for candidate in pool if candidate.key in texts]
            if keys:
                with Span("rerank", model=reranker.name, passages=len(keys)):
                    async with asyncio.timeout_at(until):
                        scores = await reranker.scores(query, [texts[key].content for key in keys])
                judged = reranking.apply(candidates, dict(zip(keys, scores, strict=True)))
        except TimeoutError:
            outcome, reason = SourceOutcome.TIMEOUT, "timeout"
        except SourceUnavailableError as error:
            outcome, reason = SourceOutcome.FAILED, error.reason
        except InvalidRankingError:
            outcome, reason = SourceOutcome.INVALID, "invalid"
        except Exception:  # a reranker may be the user's own: its bug is its outage, logged, named
            logger.exception("the reranker raised an unexpected error")
            outcome, reason = SourceOutcome.FAILED, "error"
        report = SourceReport(
            source=RERANK,
            outcome=outcome,
            elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
            reason=reason,
            hits=len(keys) if reason is None else 0,
        )
        log_outage(report)
        if reason is not None:
            judged = reranking.skipped(candidates, reason=reason)
        return judged, report

    def _rerank_deadline(self, deadline: float) -> float:
        now = asyncio.get_running_loop().time()
        return min(now + self._rerank_limits.timeout_seconds, deadline - self._rerank_limits.reserve_seconds)


def _orders(ranking: Ranking, taken: Sequence[StepOutcome]) -> tuple[StepOrder, ...]:
    orders: list[StepOrder] = []
    before = tuple(item.hit.key for item in ranking.hits)
    for outcome in taken:
        after = tuple(candidate.key for candidate in outcome.candidates)
        if outcome.report.skipped is None:
            orders.append(StepOrder(step=outcome.report.step, before=before, after=after))
        before = after
    return tuple(orders)


def _reason(error: TimeoutError | StorageUnavailableError) -> str:
    return error.reason if isinstance(error, StorageUnavailableError) else "timeout"


def step_out(step: str, error: TimeoutError | StorageUnavailableError, started: float) -> SourceReport:
    """Return the report of a step that could not be taken, and log it."""
    report = SourceReport(
        source=step,
        outcome=SourceOutcome.TIMEOUT if isinstance(error, TimeoutError) else SourceOutcome.FAILED,
        elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
        reason=_reason(error),
    )
    log_outage(report)
    return report
