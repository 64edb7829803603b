"""Use case: search the passages of every collection."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from ragcorp.application.retrieval.rollout.running import RunningRollout
from ragcorp.application.retrieval.search.plan import SearchPlanner
from ragcorp.application.retrieval.search.ranked_search import RankedSearch
from ragcorp.domain.ports.use_cases import EpisodeHydration
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest, SearchResponse


class SearchChunks:
    """Plans and runs a search while hydrating a turn. ``rollout`` chooses the profile of mode auto."""

    def __init__(
        self,
        *,
        planner: SearchPlanner,
        ranked: RankedSearch,
        hydrate: EpisodeHydration | None = None,
        rollout: RunningRollout | None = None,
        observers: Sequence[Callable[[SearchResponse], None]] = (),
    ) -> None:
        self._planner = planner
        self._ranked = ranked
        self._hydrate = hydrate
        self._rollout = rollout
        self._observers = tuple(observers)

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        """Return a page, with the hydration if there is an ``episode_id``. A search that raises records no turn."""
        if self._hydrate is None or request.episode_id is None:
            response = await self._page(request, principal)
        else:
            response = await self._hydrated(self._hydrate, request, request.episode_id, principal)
        for observe in self._observers:
            observe(response)
        return response

    async def _page(self, request: SearchRequest, principal: Principal) -> SearchResponse:
        rollout = self._rollout
        arm = None if rollout is None else rollout.arm_of(request, principal=principal)
        if rollout is None or arm is None:
            return await self._ranked.run(self._planner.plan(request, principal=principal))
        plan = self._planner.plan(rollout.applied(arm, request), principal=principal)
        return rollout.served(arm, request, plan, await self._ranked.run(plan))

    async def _hydrated(
        self, hydrate: EpisodeHydration, request: SearchRequest, episode_id: str, principal: Principal
    ) -> SearchResponse:
        hydrating = asyncio.create_task(
            hydrate.prepare(request.query, episode_id=episode_id, principal=principal, filters=request.filters)
        )
        try:
            response = await self._page(request, principal)
            prepared = await hydrating
        finally:
            if not hydrating.done():
                hydrating.cancel()
                await asyncio.gather(hydrating, return_exceptions=True)
        hydration = await hydrate.record(prepared, query=request.query, principal=principal)
        return replace(response, hydration=hydration, reports=(*response.reports, *hydration.reports))
