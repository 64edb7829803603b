"""A search for tests: it implements the port and ranks as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from ragcorp.application.retrieval.fusion.linear import LinearFusionService
from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.search import page_cursor
from ragcorp.application.retrieval.search.fan_out import SourceFanOut
from ragcorp.application.retrieval.search.page_cursor import Position
from ragcorp.application.retrieval.search.plan import QueryPlan, SearchPlanner, SearchRules, current_hour
from ragcorp.application.retrieval.search.ranked_search import RankedSearch
from ragcorp.application.retrieval.search.step_pipeline import StepPipeline
from ragcorp.application.retrieval.search_chunks import SearchChunks
from ragcorp.domain.documents import Chunk
from ragcorp.domain.ports.sources import RetrievalSource
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.requests import FusionMethod, SearchHit, SearchMode, SearchRequest, SearchResponse

ANY_PROFILE = RetrievalProfile(name="any", mode=SearchMode.DENSE, sources=("dense",))


def search_over(
    sources: Mapping[str, RetrievalSource],
    *,
    store: Any,
    profiles: Mapping[str, RetrievalProfile],
    repository: Any = None,
    default_mode: SearchMode = SearchMode.HYBRID,
    pipeline: StepPipeline | None = None,
    now: Callable[[], datetime] = current_hour,
    source_seconds: float = 5.0,
    seconds: float = 4.0,
) -> SearchChunks:
    """Return the use case over the sources; ``store`` is the repository too, unless one is given."""
    fusions: dict[FusionMethod, Any] = {
        FusionMethod.RRF: RankFusionService(),
        FusionMethod.LINEAR: LinearFusionService(),
    }
    rules = SearchRules(default_mode=default_mode, total_timeout_seconds=seconds)
    ranked = RankedSearch(
        fan_out=SourceFanOut(sources=sources, source_timeout_seconds=source_seconds),
        repository=store if repository is None else repository,
        store=store,
        fusions=fusions,
        profiles=profiles,
        pipeline=pipeline,
    )
    return SearchChunks(planner=SearchPlanner(profiles=profiles, methods=fusions, rules=rules, now=now), ranked=ranked)


@dataclass
class ScriptedSearch:
    """Gives each mode its ranking, page by page. ``errors`` and ``gates`` are by mode: a gate holds until it is set.

    It is planner and ranked search at once.
    """

    rankings: Mapping[SearchMode, Sequence[str]]
    errors: dict[SearchMode, Exception] = field(default_factory=dict)
    gates: dict[SearchMode, asyncio.Event] = field(default_factory=dict)
    outcomes: dict[SearchMode, SourceOutcome] = field(default_factory=dict)
    requests: list[SearchRequest] = field(default_factory=list)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: list[SearchMode] = field(default_factory=list)

    def plan(self, request: SearchRequest, *, principal: Principal) -> QueryPlan:
        return QueryPlan(request=request, principal=principal, profile=ANY_PROFILE, moment=current_hour(), deadline=0.0)

    async def run(self, plan: QueryPlan) -> SearchResponse:
        return await self.search(plan.request, principal=plan.principal)

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        self.requests.append(request)
        if request.mode in self.gates:
            self.entered.set()
            try:
                await self.gates[request.mode].wait()
            except asyncio.CancelledError:
                self.cancelled.append(request.mode)
                raise
        if request.mode in self.errors:
            raise self.errors[request.mode]
        ranking = self.rankings[request.mode]
        start = page_cursor.decode(request, window=max(1, len(ranking)), now=current_hour()).offset
        end = start + request.limit
        return SearchResponse(
            mode_used=request.mode,
            hits=tuple(_hit(rank, name) for rank, name in enumerate(ranking[start:end], start=start + 1)),
            reports=(
                SourceReport(source="dense", outcome=self.outcomes.get(request.mode, SourceOutcome.OK), elapsed_ms=1.0),
            ),
            next_cursor=page_cursor.encode(Position(offset=end, moment=current_hour()), request)
            if end < len(ranking)
            else None,
            explanation={"profile": request.mode.value} if request.explain else None,
        )


def _hit(rank: int, name: str) -> SearchHit:
    chunk = Chunk(
        id=name,
        document_id=UUID(int=rank),
        external_id=name,
        chunk_index=0,
        content=name,
        heading_path=(),
        title="",
        language="es",
        path=None,
        metadata={},
        line_start=1,
        line_end=1,
        page_start=None,
        page_end=None,
    )
    return SearchHit(rank=rank, score=1.0 / rank, score_type="scripted", chunk=chunk, sources=())
