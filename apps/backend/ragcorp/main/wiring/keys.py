"""Builds the authentication and the token budget of keys."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ragcorp.application.keys.authenticate import Authenticate
from ragcorp.application.keys.credentials import CredentialDigests
from ragcorp.application.limits.token_budget import TokenBudget
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore, PostgresTokenUsage
from ragcorp.main.settings.schema import Settings

if TYPE_CHECKING:
    from ragcorp.main.wiring.base import Base


def make_authenticator(settings: Settings, database: Database) -> Authenticate:
    store = PostgresKeyStore(database=database)
    return Authenticate(
        store=store,
        digests=make_digests(settings, store),
        local=settings.local_caller,
        trust_seconds=settings.key_cache_seconds,
        clock=time.monotonic,
        now=utc_now,
    )


def make_digests(settings: Settings, store: PostgresKeyStore) -> CredentialDigests:
    return CredentialDigests(store=store, secret=settings.keys_secret.get_secret_value())


def make_budget(base: Base) -> TokenBudget:
    """Return the budget, which observes the tokens that models use."""
    budget = TokenBudget(
        store=PostgresTokenUsage(database=base.database), daily_tokens=base.settings.daily_token_budget, now=utc_now
    )
    base.token_observers.add(budget)
    return base.closing(budget)


def utc_now() -> datetime:
    return datetime.now(UTC)
