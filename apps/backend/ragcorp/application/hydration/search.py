"""Stands before a search: a turn of an episode shows entities beside what was found."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ragcorp.domain.ports.use_cases import ChunkSearch, EpisodeHydration
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest, SearchResponse


class HydratedSearch:
    """Searches and hydrates side by side. A request without ``episode_id`` passes through.

    A search that fails leaves no turn. What fails in hydrating is named in ``degraded``; it fails no search.
    """

    def __init__(self, *, search: ChunkSearch, hydrate: EpisodeHydration) -> None:
        self._search = search
        self._hydrate = hydrate

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        """Raises what the search raises."""
        if request.episode_id is None:
            return await self._search.search(request, principal=principal)
        hydrating = asyncio.create_task(
            self._hydrate.prepare(
                request.query, episode_id=request.episode_id, principal=principal, filters=request.filters
            )
        )
        try:
            response = await self._search.search(request, principal=principal)
            prepared = await hydrating
        finally:
            if not hydrating.done():
                hydrating.cancel()
                await asyncio.gather(hydrating, return_exceptions=True)
        hydration = await self._hydrate.record(prepared, query=request.query, principal=principal)
        return replace(response, hydration=hydration, reports=(*response.reports, *hydration.reports))
