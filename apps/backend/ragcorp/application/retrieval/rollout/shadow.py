"""Runs a second profile beside an answer, off the caller's clock, and says where the two differ."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace

from ragcorp.application.retrieval.rollout.assignment import query_digest
from ragcorp.application.retrieval.rollout.observers import RolloutObservers
from ragcorp.application.retrieval.rollout.overlap import overlap_at, rank_changes
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.domain.search.rollout import ShadowOutcome

logger = logging.getLogger(__name__)

COMPARED = 10
"""The k of overlap@k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowLimits:
    """``max_running`` shadows at a time, the others are dropped; seconds for each, and for all to end at a shutdown.

    ``compared`` is the depth, below 10 only where a page may not hold 10 results.
    """

    max_running: int = 1
    timeout_seconds: float = 4.0
    shutdown_seconds: float = 1.0
    compared: int = COMPARED


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request as the old profile was asked it, its answer, and the same request for the new profile."""

    request: SearchRequest
    response: SearchResponse
    candidate: SearchRequest
    principal: Principal


class ShadowSearch:
    """Compares the heads of both rankings in a task of its own. Nothing that happens in it reaches the caller."""

    def __init__(self, *, search: ChunkSearch, observers: RolloutObservers, limits: ShadowLimits) -> None:
        self._search = search
        self._observers = observers
        self._limits = limits
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, answered: Answered) -> None:
        """Start a shadow and return at once, or drop it. During an outage none is started: it would add to the load."""
        if self._closed or len(self._running) >= self._limits.max_running:
            self._observers.shadow_ended(ShadowOutcome.DROPPED)
        elif _is_degraded(answered.response):
            self._observers.shadow_ended(ShadowOutcome.DEGRADED)
        else:
            task = asyncio.get_running_loop().create_task(self._run(answered), name="shadow search")
            self._running.add(task)  # the event loop itself keeps no task alive
            task.add_done_callback(self._running.discard)

    async def aclose(self) -> None:
        """Cancel the shadows that run; one that swallows its cancellation holds up no shutdown."""
        self._closed = True
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=self._limits.shutdown_seconds)

    async def _run(self, answered: Answered) -> None:
        try:
            async with asyncio.timeout(self._limits.timeout_seconds):
                await self._compare(answered)
        except (RagcorpError, TimeoutError) as error:
            reason = getattr(error, "reason", None) or type(error).__name__
            logger.warning("a shadow search failed: %s", reason)
            self._observers.shadow_ended(ShadowOutcome.FAILED)
        except Exception:
            logger.exception("a shadow search raised an unexpected error")
            self._observers.shadow_ended(ShadowOutcome.FAILED)

    async def _compare(self, answered: Answered) -> None:
        k = self._limits.compared
        response = answered.response
        if len(response.hits) < k and response.next_cursor is not None:
            response = await self._head(answered.request, answered.principal)
        candidate = await self._head(answered.candidate, answered.principal)
        if _is_degraded(response) or _is_degraded(candidate):
            self._observers.shadow_ended(ShadowOutcome.DEGRADED)
            return
        old, new = _identities(response), _identities(candidate)
        overlap = overlap_at(k, old, new)
        changes = rank_changes(k, old, new)
        if changes:
            workspace = answered.principal.workspace
            logger.info(
                "the shadow differs: workspace=%s query=%s overlap@%d=%.2f moved=%s",
                workspace,
                query_digest(workspace, answered.request.query).hex(),
                k,
                overlap,
                ",".join(map(str, changes)),
            )
        self._observers.shadow_ended(ShadowOutcome.DIFFERENT if changes else ShadowOutcome.SAME, overlap=overlap)

    async def _head(self, request: SearchRequest, principal: Principal) -> SearchResponse:
        return await self._search.search(
            replace(request, limit=self._limits.compared, explain=False), principal=principal
        )


def _is_degraded(response: SearchResponse) -> bool:
    return not all(report.answered for report in response.reports)


def _identities(response: SearchResponse) -> list[str]:
    return [hit.chunk.id for hit in response.hits]
