"""Builds the search as it is rolled out: which arm answers, and what runs unseen beside it."""

from __future__ import annotations

from contextlib import AsyncExitStack

from ragcorp.application.retrieval.rollout.assignment import planned_rollout
from ragcorp.application.retrieval.rollout.observers import RolloutObservers
from ragcorp.application.retrieval.rollout.rolled_out_search import RolledOutSearch
from ragcorp.application.retrieval.rollout.shadow import COMPARED, ShadowLimits, ShadowSearch
from ragcorp.application.retrieval.search.search_chunks import SearchChunks
from ragcorp.main.settings.schema import Settings

CONNECTIONS_PER_SHADOW = 8
"""Connections of the pool for each shadow search that may run: it takes a few, and answers come first."""


def make_rolled_out(
    settings: Settings, stack: AsyncExitStack, *, search: SearchChunks
) -> tuple[RolledOutSearch, RolloutObservers]:
    """Return the search and those who watch it; ``stack`` ends the shadows that still run."""
    rollout = planned_rollout(
        hybrid=settings.enable_hybrid_search,
        method=settings.fusion_method,
        shadow=settings.hybrid_shadow,
        percent=settings.hybrid_rollout_percent,
    )
    observers = RolloutObservers(rollout)
    shadow = ShadowSearch(
        search=search,
        observers=observers,
        limits=ShadowLimits(
            max_running=max(1, settings.database_pool_size // CONNECTIONS_PER_SHADOW),
            timeout_seconds=settings.search_timeout_seconds,
            compared=min(COMPARED, settings.max_limit),
        ),
    )
    stack.push_async_callback(shadow.aclose)
    return RolledOutSearch(search=search, rollout=rollout, observers=observers, shadow=shadow), observers
