"""A search beside the hydration of its turn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ragcorp.application.retrieval.search.plan import QueryPlan, current_hour
from ragcorp.application.retrieval.search_chunks import SearchChunks
from ragcorp.domain.exceptions import AllSourcesFailedError, InvalidInputError
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.requests import SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.structure.hydration import Hydration, HydrationLimits, HydrationUse
from support.retrieval.searches import ANY_PROFILE
from support.storage.stored import where

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana")
OUT = SourceReport(source="semantic", outcome=SourceOutcome.FAILED, elapsed_ms=1.0, reason="unreachable")


@dataclass
class Found:
    error: Exception | None = None
    gate: asyncio.Event | None = None

    def plan(self, request: SearchRequest, *, principal: Principal) -> QueryPlan:
        return QueryPlan(request=request, principal=principal, profile=ANY_PROFILE, moment=current_hour(), deadline=0.0)

    async def run(self, plan: QueryPlan) -> SearchResponse:
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return SearchResponse(mode_used=SearchMode.DENSE, hits=(), reports=())


@dataclass
class Hydrating:
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[tuple[str, str, Principal, Filters]] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    cancelled: bool = False
    forever: bool = False

    async def prepare(self, query: str, *, episode_id: str, principal: Principal, filters: Filters = ()) -> Hydration:
        self.asked.append((query, episode_id, principal, filters))
        self.begun.set()
        if self.forever:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return Hydration(
            episode_id=episode_id,
            turn=None,
            entities=(),
            dropped=(),
            warnings=(),
            use=HydrationUse(limits=HydrationLimits()),
            reports=(OUT,),
        )

    async def record(self, hydration: Hydration, *, query: str, principal: Principal) -> Hydration:
        self.recorded.append(query)
        return replace(hydration, turn=7)


def hydrated(search: Any, hydrate: Hydrating) -> SearchChunks:
    return SearchChunks(planner=search, ranked=search, hydrate=hydrate)


async def test_without_an_episode_nothing_is_hydrated() -> None:
    hydrate = Hydrating()
    response = await hydrated(Found(), hydrate).search(SearchRequest(query="login"), principal=ANA)
    assert (response.hydration, hydrate.asked) == (None, [])


async def test_the_response_carries_the_turn_and_what_failed_in_it() -> None:
    hydrate = Hydrating()
    request = SearchRequest(query="login", episode_id="e", filters=where(language="en"))
    response = await hydrated(Found(), hydrate).search(request, principal=ANA)
    assert hydrate.asked == [("login", "e", ANA, request.filters)]
    assert hydrate.recorded == ["login"]
    assert response.hydration is not None
    assert response.hydration.turn == 7
    assert response.degraded == (OUT,)


async def test_search_and_hydration_run_side_by_side() -> None:
    hydrate = Hydrating()
    search = Found(gate=hydrate.begun)  # a search that comes back only once the hydration has begun
    async with asyncio.timeout(30):
        await hydrated(search, hydrate).search(SearchRequest(query="login", episode_id="e"), principal=ANA)


@pytest.mark.parametrize("error", [InvalidInputError("bad"), AllSourcesFailedError("out")])
async def test_a_search_that_fails_leaves_no_turn(error: Exception) -> None:
    hydrate = Hydrating(forever=True)
    search = Found(error=error, gate=hydrate.begun)
    with pytest.raises(type(error)):
        await hydrated(search, hydrate).search(SearchRequest(query="login", episode_id="e"), principal=ANA)
    assert (hydrate.cancelled, hydrate.recorded) == (True, [])


async def test_who_leaves_leaves_nothing_running() -> None:
    hydrate = Hydrating(forever=True)
    task = asyncio.create_task(
        hydrated(Found(), hydrate).search(SearchRequest(query="login", episode_id="e"), principal=ANA)
    )
    await hydrate.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (hydrate.cancelled, hydrate.recorded) == (True, [])


@pytest.mark.parametrize("episode_id", ["", "e" * 201, "a\x00b", "\ud800", ".", ".."])
def test_a_name_that_no_episode_may_have_is_refused(episode_id: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        SearchRequest(query="login", episode_id=episode_id)
    assert refused.value.field == "episode_id"


def test_a_page_is_no_turn() -> None:
    with pytest.raises(InvalidInputError) as refused:
        SearchRequest(query="login", episode_id="e", cursor="abc")
    assert (refused.value.field, refused.value.limit) == ("cursor", "cursor or episode_id")
