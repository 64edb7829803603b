"""A fan-out over sources of the test's own, without storage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragcorp.application.resilience.circuit_breaker import CircuitBreaker
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.search.fan_out import SourceFanOut
from ragcorp.application.retrieval.search.plan import QueryPlan, current_hour
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.sources import JointSources, RetrievalSource, SourceResult
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList
from ragcorp.domain.search.requests import SearchMode, SearchRequest
from support.retrieval.sources import ScriptedSource


def healthy(name: str = "sano") -> ScriptedSource:
    return ScriptedSource(Hit(chunk_id="1", score=1.0), name=name)


@dataclass(slots=True)
class FanOut:
    """Asks its sources; ``seen`` holds the lists that came to be identified, ``seconds`` what the last call took."""

    sources: Sequence[RetrievalSource]
    timeout: float = 5.0
    total: float = 10.0
    timeouts: Mapping[str, float] = field(default_factory=dict)
    breaker: CircuitBreaker | None = None
    joint: JointSources | None = None
    known: frozenset[str] | None = None
    seen: list[RankedList] = field(default_factory=list)
    seconds: float = 0.0
    fan_out: SourceFanOut = field(init=False)

    def __post_init__(self) -> None:
        self.fan_out = SourceFanOut(
            sources={source.name: source for source in self.sources},
            source_timeout_seconds=self.timeout,
            timeouts=self.timeouts,
            breaker=self.breaker,
            joint=self.joint,
        )

    async def ask(
        self, *names: str, filters: Filters = (), limit: int = 10, pools: Mapping[str, float] | None = None
    ) -> dict[str, SourceResult]:
        """Ask the named sources, or all."""
        asked = names or tuple(source.name for source in self.sources)
        plan = QueryPlan(
            request=SearchRequest(query="plazo", filters=filters),
            principal=Principal(),
            profile=RetrievalProfile(
                name="p", mode=SearchMode.HYBRID, sources=asked, rank_window_size=limit, pools=pools or {}
            ),
            moment=current_hour(),
            deadline=asyncio.get_running_loop().time() + self.total,
        )
        started = time.perf_counter()
        try:
            results = await self.fan_out.query(asked, plan, identify=self._identify)
        finally:
            self.seconds = time.perf_counter() - started
        assert [result.report.source for result in results] == list(asked)
        return {result.report.source: result for result in results}

    async def _identify(self, ranked: RankedList, _: Principal) -> RankedList:
        self.seen.append(ranked)
        if self.known is None:
            return ranked
        hits = tuple(hit for hit in ranked.hits if hit.chunk_id in self.known)
        return RankedList(source=ranked.source, score_type=ranked.score_type, hits=hits)


def told(results: Mapping[str, SourceResult]) -> dict[str, tuple[str, str | None]]:
    """Return outcome and reason by source."""
    return {name: (result.report.outcome.value, result.report.reason) for name, result in results.items()}


def found(results: Mapping[str, SourceResult]) -> dict[str, list[str | None]]:
    """Return the ids of the hits by source, of those that answered."""
    return {
        name: [hit.chunk_id for hit in result.answer.ranked_list]
        for name, result in results.items()
        if result.answer is not None
    }
