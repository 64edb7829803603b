"""Applies the steps after fusion to the window: decay, deduplication, visibility, reranking, diversification."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ragcorp.application.resilience.source_reports import elapsed_ms, log_outage, logged_failure, reason_of
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.application.retrieval.search.list_fusion import Ranking
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.application.retrieval.steps import deduplication, diversification, temporal_decay, visibility_policy
from ragcorp.application.retrieval.steps.reranking import Reranking
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
    """Candidates that a reranker scores, its seconds, and the seconds reserved for the rest of the search."""

    pool_size: int = 20
    timeout_seconds: float = 2.0
    reserve_seconds: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOrder:
    """The window's order before and after an applied step."""

    step: str
    before: tuple[HitKey, ...]
    after: tuple[HitKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """The window after the steps, with reports; ``candidates`` is None if no step ran. ``orders`` are to explain."""

    candidates: tuple[Candidate, ...] | None = None
    steps: tuple[StepReport, ...] = ()
    reports: tuple[SourceReport, ...] = ()
    orders: tuple[StepOrder, ...] = ()


class StepPipeline:
    """Applies the steps of a ranking's profile: at most two round trips, and one more for the reranker's texts."""

    def __init__(
        self, *, store: CandidateStore, reranker: Reranker | None = None, rerank_limits: RerankLimits | None = None
    ) -> None:
        self._store = store
        self._reranker = reranker
        self._rerank_limits = rerank_limits or RerankLimits()

    async def apply(self, ranking: Ranking) -> PipelineResult:
        """Return the final order, whatever the limit. A step that lacks its data in time is skipped and named."""
        plan = ranking.plan
        steps = plan.profile.steps
        principal, deadline = plan.principal, plan.deadline
        reranker = self._reranker if steps.rerank else None
        unused = reranker is None and steps.decay is None and steps.diversify is None and not steps.deduplicate
        if unused and not plan.request.facets:
            return PipelineResult()
        started = time.perf_counter()
        try:
            with ParentSpan(f"step {DESCRIBE}"):
                outcome = await run_until(deadline, self._described(ranking, principal))
        except (TimeoutError, StorageUnavailableError) as error:
            count = len(ranking.hits)
            skipped = StepReport(step=DESCRIBE, before=count, after=count, skipped=reason_of(error))
            return PipelineResult(steps=(skipped,), reports=(logged_failure(DESCRIBE, error, started),))
        taken = [outcome]
        if steps.decay is not None:
            with ParentSpan(f"step {temporal_decay.STEP}"):
                outcome = steps.decay.apply(outcome.candidates, now=plan.moment)
            taken.append(outcome)
        if steps.deduplicate:
            with ParentSpan(f"step {deduplication.STEP}"):
                outcome = deduplication.deduplicated(outcome.candidates)
            taken.append(outcome)
        with ParentSpan(f"step {visibility_policy.STEP}"):
            outcome = visibility_policy.only_readable(outcome.candidates, principal=principal)
        taken.append(outcome)
        reports: list[SourceReport] = []
        if reranker is not None:
            with ParentSpan(f"step {RERANK}"):
                outcome, report = await self._reranked(reranker, outcome.candidates, plan)
            taken.append(outcome)
            reports.append(report)
        if steps.diversify is not None:
            keys = [candidate.key for candidate in steps.diversify.pool(outcome.candidates)]
            started = time.perf_counter()
            try:
                look = self._store.features(keys, principal=principal)
                with ParentSpan(f"step {DIVERSIFY}"):
                    features = await run_until(deadline, look)
            except (TimeoutError, StorageUnavailableError) as error:
                taken.append(StepOutcome.of(DIVERSIFY, outcome.candidates, skipped=reason_of(error)))
                reports.append(logged_failure(DIVERSIFY, error, started))
            else:
                outcome = steps.diversify.apply(outcome.candidates, features)
                taken.append(outcome)
        return PipelineResult(
            candidates=outcome.candidates,
            steps=tuple(step.report for step in taken),
            reports=tuple(reports),
            orders=_orders(ranking, taken) if plan.request.explain else (),
        )

    async def _described(self, ranking: Ranking, principal: Principal) -> StepOutcome:
        """Return the hits with their stored descriptions, without deleted or unreadable ones."""
        descriptions = await self._store.describe([item.hit.key for item in ranking.hits], principal=principal)
        candidates = [
            Candidate(fused=item, score=item.score, description=descriptions[item.hit.key])
            for item in ranking.hits
            if item.hit.key in descriptions
        ]
        return StepOutcome.of(
            DESCRIBE, candidates, before=len(ranking.hits), formula="what is stored no more is left out"
        )

    async def _reranked(
        self, reranker: Reranker, candidates: tuple[Candidate, ...], plan: QueryPlan
    ) -> tuple[StepOutcome, SourceReport]:
        """Return the candidates in the reranker's order, and its report; where it fails, in their own order."""
        reranking = Reranking(reranker=reranker.name, pool_size=self._rerank_limits.pool_size)
        pool = reranking.pool(candidates)
        started = time.perf_counter()
        reason: str | None = None
        keys: list[HitKey] = []
        outcome = SourceOutcome.OK
        judged = reranking.apply(candidates, {})
        until = self._rerank_deadline(plan.deadline)
        try:
            look = self._store.read([candidate.key for candidate in pool], principal=plan.principal)
            texts = await run_until(until, look)
            keys = [candidate.key for candidate in pool if candidate.key in texts]
            if keys:
                with Span("rerank", model=reranker.name, passages=len(keys)):
                    async with asyncio.timeout_at(until):
                        scores = await reranker.scores(plan.request.query, [texts[key].content for key in keys])
                judged = reranking.apply(candidates, dict(zip(keys, scores, strict=True)))
        except TimeoutError:
            outcome, reason = SourceOutcome.TIMEOUT, "timeout"
        except SourceUnavailableError as error:
            outcome, reason = SourceOutcome.FAILED, error.reason
        except InvalidRankingError:
            outcome, reason = SourceOutcome.INVALID, "invalid"
        except Exception:  # the bug of a custom reranker is its outage: logged and named
            logger.exception("the reranker raised an unexpected error")
            outcome, reason = SourceOutcome.FAILED, "error"
        report = SourceReport(
            source=RERANK,
            outcome=outcome,
            elapsed_ms=elapsed_ms(started),
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
