"""Port for the upkeep of the cache of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ragcorp.domain.embedding_cache import CachedVectors


class EmbeddingCacheUpkeep(Protocol):
    """What an operator sees and removes of that cache, in all workspaces. Vectors in use by an index are no part of it.

    ``model`` is a model's name, None for all. Outages are a StorageUnavailableError.
    """

    async def status(self) -> Sequence[CachedVectors]:
        """Return one entry for each model of the database, by name and width, also where nothing is kept of it."""
        ...

    async def count_unused(self, *, days: float, model: str | None) -> int:
        """Return how many vectors were used last at least so many days ago."""
        ...

    async def prune(self, *, days: float, model: str | None, limit: int) -> int:
        """Remove at most ``limit`` of those, the longest unused first; return how many."""
        ...
