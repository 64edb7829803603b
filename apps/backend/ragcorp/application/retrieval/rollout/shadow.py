"""Runs the new profile in the background after a response, and logs where the rankings differ.

overlap@k(A, B) = |A[:k] ∩ B[:k]| / max(|A[:k]|, |B[:k]|), and 1 where both are empty

That is the agreement at depth k of Webber, Moffat, Zobel: A similarity measure for indefinite rankings, TOIS 28(4),
2010, with the longer head in place of k: two equal lists that are shorter than k agree wholly.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ragcorp.application.retrieval.rollout.assignment import RolloutObservers, query_digest
from ragcorp.application.retrieval.search.plan import QueryPlan, SearchPlanner
from ragcorp.application.retrieval.search.ranked_search import RankedSearch
from ragcorp.domain.exceptions import InvalidInputError, RagcorpError
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.domain.search.rollout import ShadowOutcome

logger = logging.getLogger(__name__)

COMPARED = 10
"""The k of overlap@k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowLimits:
    """Bounds of shadow searches, in seconds; ``compared`` is the depth, below 10 only where pages are smaller."""

    max_running: int = 1
    timeout_seconds: float = 4.0
    shutdown_seconds: float = 1.0
    compared: int = COMPARED


class ShadowSearch:
    """Compares the heads of both rankings in a background task. Its failures never reach the caller."""

    def __init__(
        self, *, planner: SearchPlanner, ranked: RankedSearch, observers: RolloutObservers, limits: ShadowLimits
    ) -> None:
        self._planner = planner
        self._ranked = ranked
        self._observers = observers
        self._limits = limits
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, plan: QueryPlan, response: SearchResponse, *, candidate: SearchRequest) -> None:
        """Start comparing with the new profile's ``candidate``, or drop the shadow: always during an outage."""
        if self._closed or len(self._running) >= self._limits.max_running:
            self._observers.shadow_ended(ShadowOutcome.DROPPED)
        elif _is_degraded(response):
            self._observers.shadow_ended(ShadowOutcome.DEGRADED)
        else:
            task = asyncio.get_running_loop().create_task(self._run(plan, response, candidate), name="shadow search")
            self._running.add(task)  # the event loop itself keeps no task alive
            task.add_done_callback(self._running.discard)

    async def aclose(self) -> None:
        """Cancel the shadows that run; one that swallows its cancellation does not delay the shutdown."""
        self._closed = True
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=self._limits.shutdown_seconds)

    async def _run(self, plan: QueryPlan, response: SearchResponse, candidate: SearchRequest) -> None:
        try:
            async with asyncio.timeout(self._limits.timeout_seconds):
                await self._compare(plan, response, candidate)
        except (RagcorpError, TimeoutError) as error:
            reason = getattr(error, "reason", None) or type(error).__name__
            logger.warning("a shadow search failed: %s", reason)
            self._observers.shadow_ended(ShadowOutcome.FAILED)
        except Exception:
            logger.exception("a shadow search raised an unexpected error")
            self._observers.shadow_ended(ShadowOutcome.FAILED)

    async def _compare(self, plan: QueryPlan, response: SearchResponse, candidate: SearchRequest) -> None:
        k = self._limits.compared
        if len(response.hits) < k and response.next_cursor is not None:
            response = await self._head(plan.request, plan.principal)
        shadow = await self._head(candidate, plan.principal)
        if _is_degraded(response) or _is_degraded(shadow):
            self._observers.shadow_ended(ShadowOutcome.DEGRADED)
            return
        old, new = _identities(response), _identities(shadow)
        overlap = overlap_at(k, old, new)
        changes = rank_changes(k, old, new)
        if changes:
            workspace = plan.principal.workspace
            logger.info(
                "the shadow differs: workspace=%s query=%s overlap@%d=%.2f moved=%s",
                workspace,
                query_digest(workspace, candidate.query).hex(),
                k,
                overlap,
                ",".join(map(str, changes)),
            )
        self._observers.shadow_ended(ShadowOutcome.DIFFERENT if changes else ShadowOutcome.SAME, overlap=overlap)

    async def _head(self, request: SearchRequest, principal: Principal) -> SearchResponse:
        head = replace(request, limit=self._limits.compared, explain=False)
        return await self._ranked.run(self._planner.plan(head, principal=principal))


def _is_degraded(response: SearchResponse) -> bool:
    return not all(report.answered for report in response.reports)


def _identities(response: SearchResponse) -> list[str]:
    return [hit.chunk.id for hit in response.hits]


class RankChange(NamedTuple):
    """A passage whose rank differs; ranks start at 1, None is outside the head."""

    identity: str
    old: int | None
    new: int | None

    def __str__(self) -> str:
        return f"{self.identity}:{self.old or '-'}>{self.new or '-'}"


def overlap_at(k: int, old: Sequence[str], new: Sequence[str]) -> float:
    """Return overlap@k in [0, 1]; order within the heads does not count. Raises InvalidInputError."""
    first, second = _ranks(k, old), _ranks(k, new)
    longer = max(len(first), len(second))
    return len(first.keys() & second.keys()) / longer if longer else 1.0


def rank_changes(k: int, old: Sequence[str], new: Sequence[str]) -> tuple[RankChange, ...]:
    """Return the differences of the heads, by the better rank; empty if they are equal. Raises InvalidInputError."""
    first, second = _ranks(k, old), _ranks(k, new)
    changes = [
        RankChange(identity, first.get(identity), second.get(identity))
        for identity in first | second
        if first.get(identity) != second.get(identity)
    ]
    outside = k + 1
    return tuple(
        sorted(
            changes,
            key=lambda change: (
                min(change.old or outside, change.new or outside),
                change.old or outside,
                change.identity,
            ),
        )
    )


def _ranks(k: int, ranking: Sequence[str]) -> dict[str, int]:
    if k < 1:
        raise InvalidInputError("The depth of a comparison starts at 1.", field="k")
    head = ranking[:k]
    ranks = {identity: rank for rank, identity in enumerate(head, start=1)}
    if len(ranks) != len(head):
        raise InvalidInputError("A ranking contains a passage twice.", field="ranking")
    return ranks
