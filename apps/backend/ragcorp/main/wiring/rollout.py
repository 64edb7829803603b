"""Builds the roll-out of a new profile: assignment, observers and shadow searches."""

from contextlib import AsyncExitStack

from ragcorp.application.retrieval.rollout.assignment import RolloutObservers, planned_rollout
from ragcorp.application.retrieval.rollout.running import RunningRollout
from ragcorp.application.retrieval.rollout.shadow import COMPARED, ShadowLimits, ShadowSearch
from ragcorp.application.retrieval.search.plan import SearchPlanner
from ragcorp.application.retrieval.search.ranked_search import RankedSearch
from ragcorp.main.settings.schema import Settings

CONNECTIONS_PER_SHADOW = 8
"""Pool connections for each concurrent shadow search: it uses a few, and responses come first."""


def make_rollout(
    settings: Settings, stack: AsyncExitStack, *, planner: SearchPlanner, ranked: RankedSearch
) -> tuple[RunningRollout, RolloutObservers]:
    """Return the roll-out and its observers; ``stack`` cancels running shadows."""
    rollout = planned_rollout(
        hybrid=settings.enable_hybrid_search,
        method=settings.fusion_method,
        shadow=settings.hybrid_shadow,
        percent=settings.hybrid_rollout_percent,
    )
    observers = RolloutObservers(rollout)
    shadow = ShadowSearch(
        planner=planner,
        ranked=ranked,
        observers=observers,
        limits=ShadowLimits(
            max_running=max(1, settings.database_pool_size // CONNECTIONS_PER_SHADOW),
            timeout_seconds=settings.search_timeout_seconds,
            compared=min(COMPARED, settings.max_limit),
        ),
    )
    stack.push_async_callback(shadow.aclose)
    return RunningRollout(rollout=rollout, observers=observers, shadow=shadow), observers
