"""Use case: count what the caller may read, by facet."""

from __future__ import annotations

from ragcorp.domain.collections import Facets
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.collections import FacetCounts
from ragcorp.domain.principal import Principal


class CountFacets:
    """Counts by collection, artifact_type, language and month."""

    def __init__(self, *, counts: FacetCounts) -> None:
        self._counts = counts

    async def count(self, *, principal: Principal, filters: Filters = ()) -> Facets:
        """Raises StorageUnavailableError, also (reason ``timeout``) where counting takes longer than a search may."""
        return await self._counts.count(principal=principal, filters=filters)
