"""Builds what keeps account across requests: the tokens of keys, and the answers that repeated writes are given."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial

from ragcorp.application.limits.token_budget import TokenBudget
from ragcorp.application.upkeep.purge_worker import PurgeWorker
from ragcorp.domain.observers import TokenObservers
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.keys.idempotency_store import PostgresIdempotencyStore
from ragcorp.infrastructure.postgres.keys.token_usage import PostgresTokenUsage
from ragcorp.main.settings.schema import Settings


def make_budget(
    settings: Settings, stack: AsyncExitStack, *, database: Database, tokens: TokenObservers
) -> TokenBudget:
    """Return the budget, which counts what ``tokens`` tells; ``stack`` writes what is not written yet."""
    budget = TokenBudget(
        store=PostgresTokenUsage(database=database),
        daily_tokens=settings.daily_token_budget,
        now=partial(datetime.now, UTC),
    )
    stack.push_async_callback(budget.aclose)
    tokens.add(budget)
    return budget


def answers_purge(settings: Settings, store: PostgresIdempotencyStore) -> PurgeWorker:
    purge = partial(store.purge, older_than_hours=settings.idempotency_retention_hours)
    return PurgeWorker(purge=purge, what="answers to repeated writes")
