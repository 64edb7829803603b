"""Use case: inspect the vector cache and remove vectors that were not used for a while."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragcorp.application.upkeep.task_progress import Report
from ragcorp.domain.embeddings import CachedVectors
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.embeddings import EmbeddingCacheUpkeep

BATCH = 1000
MAX_DAYS = 36_500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """Numbers of unused and pruned vectors; fewer were pruned if some were used again or pruned elsewhere."""

    unused: int
    pruned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneEmbeddings:
    """Works on the cache of all workspaces. Chunks and items keep their vectors: results do not change."""

    cache: EmbeddingCacheUpkeep
    batch_size: int = BATCH

    async def status(self) -> Sequence[CachedVectors]:
        return await self.cache.status()

    async def prune(
        self,
        *,
        unused_days: float,
        model: str | None = None,
        dry_run: bool = False,
        on_progress: Report = lambda _done, _total: None,
    ) -> PruneReport:
        """Remove vectors unused for ``unused_days``, in a transaction per batch. Raises InvalidInputError."""
        if not (math.isfinite(unused_days) and 0 <= unused_days <= MAX_DAYS):
            raise InvalidInputError.out_of_range("unused_days", f"0 to {MAX_DAYS:g}")
        if model is not None and model not in {cached.model.name for cached in await self.cache.status()}:
            raise InvalidInputError(
                "There is no model of this name in the database.",
                field="model",
                remedy="`ragcorp embeddings status` lists the models.",
            )
        unused = await self.cache.count_unused(days=unused_days, model=model)
        pruned = 0
        if dry_run:
            return PruneReport(unused=unused, pruned=pruned)
        on_progress(pruned, unused)
        # bounded: vectors that become unused during the run wait for the next one
        while pruned < unused:
            removed = await self.cache.prune(days=unused_days, model=model, limit=min(self.batch_size, unused - pruned))
            if not removed:
                break
            pruned += removed
            on_progress(pruned, unused)
        return PruneReport(unused=unused, pruned=pruned)
