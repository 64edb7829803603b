"""Builds the token budget of keys."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial

from ragcorp.application.limits.token_budget import TokenBudget
from ragcorp.domain.observers import TokenObservers
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.keys.token_usage import PostgresTokenUsage
from ragcorp.main.settings.schema import Settings


def make_budget(
    settings: Settings, stack: AsyncExitStack, *, database: Database, tokens: TokenObservers
) -> TokenBudget:
    """Return the budget, an observer of ``tokens``; ``stack`` writes its last counts."""
    budget = TokenBudget(
        store=PostgresTokenUsage(database=database),
        daily_tokens=settings.daily_token_budget,
        now=partial(datetime.now, UTC),
    )
    stack.push_async_callback(budget.aclose)
    tokens.add(budget)
    return budget
