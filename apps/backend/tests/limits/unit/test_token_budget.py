"""Tokens are counted by key and UTC day, none is lost while the database is away, and a budget ends at midnight."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from ragcorp.application.limits.token_budget import ACCOUNT, TokenBudget
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.keys import TooManyRequestsError
from ragcorp.domain.ports.keys import TokenAccount

pytestmark = pytest.mark.anyio

KEY = TokenAccount(workspace="default", key_id="k")
OTHER = TokenAccount(workspace="default", key_id="o")
DAY = date(2026, 3, 1)


class MemoryUsage:
    def __init__(self) -> None:
        self.sums: Counter[tuple[TokenAccount, date]] = Counter()
        self.away = False
        self.hold: asyncio.Event | None = None

    async def used(self, account: TokenAccount, *, day: date) -> int:
        return self.sums[account, day]

    async def add(self, tokens: Mapping[tuple[TokenAccount, date], int]) -> None:
        if self.hold is not None:
            await self.hold.wait()
        if self.away:
            raise StorageUnavailableError("The database is away.", reason="unreachable")
        self.sums.update(tokens)


@pytest.fixture
def store() -> MemoryUsage:
    return MemoryUsage()


@pytest.fixture(autouse=True)
def _as_key() -> Iterator[None]:
    token = ACCOUNT.set(KEY)
    yield
    ACCOUNT.reset(token)


def budget(
    store: MemoryUsage,
    *,
    daily_tokens: int = 100,
    now: Callable[[], datetime] = lambda: datetime(2026, 3, 1, 22, 30, tzinfo=UTC),
) -> TokenBudget:
    return TokenBudget(store=store, daily_tokens=daily_tokens, now=now)


async def test_a_key_that_used_its_tokens_waits_for_midnight(store: MemoryUsage) -> None:
    counted = budget(store)
    counted.tokens_used(prompt=90, completion=9)
    await counted.require()
    counted.tokens_used(prompt=0, completion=1)
    with pytest.raises(TooManyRequestsError) as refused:
        await counted.require()
    assert refused.value.retry_after_seconds == 90 * 60
    assert refused.value.limit == "100 tokens a day (UTC)"
    await counted.aclose()
    assert store.sums == {(KEY, DAY): 100}


async def test_the_day_is_that_of_utc(store: MemoryUsage) -> None:
    there = timezone(timedelta(hours=-5))
    counted = budget(store, now=lambda: datetime(2026, 3, 1, 22, 30, tzinfo=there))
    counted.tokens_used(prompt=100, completion=0)
    with pytest.raises(TooManyRequestsError) as refused:
        await counted.require()
    assert refused.value.retry_after_seconds == 20.5 * 3600
    await counted.aclose()
    assert store.sums == {(KEY, date(2026, 3, 2)): 100}


async def test_another_day_has_its_own_budget(store: MemoryUsage) -> None:
    moment = [datetime(2026, 3, 1, 23, 59, tzinfo=UTC)]
    counted = budget(store, now=lambda: moment[0])
    counted.tokens_used(prompt=100, completion=0)
    moment[0] += timedelta(minutes=2)
    await counted.require()
    await counted.aclose()


async def test_keys_have_budgets_of_their_own_and_the_local_user_has_none(store: MemoryUsage) -> None:
    counted = budget(store)
    counted.tokens_used(prompt=100, completion=0)
    for account in (OTHER, None):
        ACCOUNT.set(account)
        await counted.require()
    counted.tokens_used(prompt=500, completion=0)  # nobody's
    await counted.require()
    await counted.aclose()
    assert store.sums == {(KEY, DAY): 100}


async def test_a_budget_of_0_counts_and_refuses_nobody(store: MemoryUsage) -> None:
    counted = budget(store, daily_tokens=0)
    counted.tokens_used(prompt=10**9, completion=0)
    await counted.require()
    await counted.aclose()
    assert store.sums.total() == 10**9


async def test_what_is_being_written_counts(store: MemoryUsage) -> None:
    store.hold = asyncio.Event()
    counted = budget(store)
    counted.tokens_used(prompt=60, completion=0)
    await asyncio.sleep(0.01)  # it is on its way
    counted.tokens_used(prompt=40, completion=0)
    with pytest.raises(TooManyRequestsError):
        await counted.require()
    store.hold.set()
    await counted.aclose()
    assert store.sums == {(KEY, DAY): 100}


async def test_no_token_is_lost_while_the_database_is_away(store: MemoryUsage) -> None:
    counted = budget(store)
    store.away = True
    counted.tokens_used(prompt=60, completion=0)
    await asyncio.sleep(0.01)
    assert not store.sums
    with pytest.raises(TooManyRequestsError):
        counted.tokens_used(prompt=40, completion=0)
        await asyncio.sleep(0.01)
        await counted.require()
    store.away = False
    await counted.aclose()
    assert store.sums == {(KEY, DAY): 100}


async def test_the_end_waits_for_what_is_being_written(store: MemoryUsage) -> None:
    store.hold = asyncio.Event()
    counted = budget(store)
    counted.tokens_used(prompt=60, completion=0)
    await asyncio.sleep(0.01)
    asyncio.get_running_loop().call_later(0.05, store.hold.set)
    await counted.aclose()
    assert store.sums == {(KEY, DAY): 60}
