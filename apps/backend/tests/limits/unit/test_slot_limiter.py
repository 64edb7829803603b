"""Slots: never more than there are, granted in order of arrival, capped by key, and none lost however requests end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.limits.slot_limiter import SlotLimiter, share_of
from ragcorp.domain.exceptions import BusyError

pytestmark = pytest.mark.anyio


def limiter(*, slots: int = 1, wait_seconds: float = 30.0, max_waiting: int = 100) -> SlotLimiter:
    return SlotLimiter(slots=slots, wait_seconds=wait_seconds, max_waiting=max_waiting)


async def test_places_are_given_in_order_of_arrival() -> None:
    slots = limiter()
    await slots.acquire()
    order: list[int] = []

    async def one(number: int) -> None:
        await slots.acquire()
        order.append(number)
        slots.release()

    tasks = [asyncio.create_task(one(number)) for number in range(5)]
    await asyncio.sleep(0)
    assert not await slots.try_acquire()
    slots.release()
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2, 3, 4]
    assert slots.taken == 0


async def test_who_comes_while_others_wait_does_not_overtake_them() -> None:
    slots = limiter()
    await slots.acquire()
    waiting = asyncio.create_task(slots.acquire())
    await asyncio.sleep(0)
    slots.release()  # the place is the waiting one's, which has not run yet
    assert not await slots.try_acquire()
    await waiting


async def test_a_wait_ends() -> None:
    slots = limiter(wait_seconds=0.01)
    await slots.acquire()
    with pytest.raises(BusyError):
        await slots.acquire()
    assert slots.waiting == 0
    slots.release()
    await slots.acquire()


async def test_the_queue_is_bounded() -> None:
    slots = limiter(max_waiting=1)
    await slots.acquire()
    waiting = asyncio.create_task(slots.acquire())
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await slots.acquire()
    slots.release()
    await waiting


async def test_a_place_that_comes_with_a_cancellation_is_passed_on() -> None:
    slots = limiter()
    await slots.acquire()
    first = asyncio.create_task(slots.acquire())
    second = asyncio.create_task(slots.acquire())
    await asyncio.sleep(0)
    slots.release()
    first.cancel()  # the place is given, and nobody takes it
    await asyncio.gather(first, return_exceptions=True)
    assert first.cancelled()
    await second
    assert slots.taken == 1


async def test_a_waiter_that_was_cancelled_in_the_same_moment_is_passed_over() -> None:
    slots = limiter()
    await slots.acquire()
    first = asyncio.create_task(slots.acquire())
    second = asyncio.create_task(slots.acquire())
    await asyncio.sleep(0)
    first.cancel()  # its task has not run yet, so it is still in the queue
    slots.release()
    await second
    await asyncio.gather(first, return_exceptions=True)
    assert first.cancelled()
    assert (slots.taken, slots.waiting) == (1, 0)


@pytest.mark.parametrize(("count", "share"), [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (100, 75)])
async def test_one_key_leaves_places_for_another(count: int, share: int) -> None:
    slots = limiter(slots=count)
    assert share_of(count) == share
    assert [await slots.try_acquire("b") for _ in range(count)] == [number < share for number in range(count)]
    assert [await slots.try_acquire("a") for _ in range(count - share)] == [True] * (count - share)
    assert not await slots.try_acquire("a")


async def test_the_local_user_who_is_alone_may_hold_all_places() -> None:
    slots = limiter(slots=8)
    assert [await slots.try_acquire(None) for _ in range(9)] == [True] * 8 + [False]


async def test_one_queue_serves_all_keys_in_order_of_arrival() -> None:
    slots = limiter()
    await slots.acquire("d")
    order: list[str] = []

    async def one(key: str, number: int) -> None:
        await slots.acquire(key)
        order.append(f"{key}{number}")
        slots.release(key)

    arrivals = [("b", 0), ("b", 1), ("a", 0), ("b", 2), ("c", 0), ("a", 1)]
    tasks = [asyncio.create_task(one(key, number)) for key, number in arrivals]
    await asyncio.sleep(0)
    slots.release("d")
    await asyncio.gather(*tasks)
    assert order == [f"{key}{number}" for key, number in arrivals]


async def test_a_key_that_has_its_share_is_passed_over_until_it_gives_a_place_back() -> None:
    slots = limiter(slots=2)
    await slots.acquire("b")
    await slots.acquire("a")
    more = asyncio.create_task(slots.acquire("b"))
    await asyncio.sleep(0)
    slots.release("a")  # b waits first, and has its share
    await asyncio.sleep(0)
    assert not more.done()
    assert await slots.try_acquire("a")
    slots.release("b")
    await more
    assert slots.taken == 2


async def test_a_flood_of_one_key_leaves_room_in_the_queue() -> None:
    slots = limiter(max_waiting=4)
    await slots.acquire("d")
    flood = [asyncio.create_task(slots.acquire("b")) for _ in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [type(task.exception()) for task in flood if task.done()] == [BusyError] * 2
    waits = asyncio.create_task(slots.acquire("a"))
    await asyncio.sleep(0)
    assert (slots.waiting, waits.done()) == (4, False)
    with pytest.raises(BusyError):  # the queue is full
        await slots.acquire("c")
    for key in ("d", "b", "b", "b"):
        slots.release(key)
        await asyncio.sleep(0)
    await waits
    assert (slots.taken, slots.waiting) == (1, 0)


async def test_each_refusal_is_reported() -> None:
    refusals: list[str] = []
    slots = SlotLimiter(slots=1, wait_seconds=0.01, max_waiting=1, on_busy=lambda: refusals.append("busy"))
    await slots.acquire("a")
    with pytest.raises(BusyError):
        await slots.acquire("b", wait_seconds=0)
    with pytest.raises(BusyError):
        await slots.acquire("b")
    assert len(refusals) == 2


@given(seed=st.integers(0, 2**32), count=st.integers(1, 4))
async def test_no_place_is_lost_or_made_when_tasks_are_cancelled_at_random(seed: int, count: int) -> None:
    chance = random.Random(seed)
    slots = limiter(slots=count, wait_seconds=0.003, max_waiting=15)
    working: Counter[str | None] = Counter()
    most: Counter[str | None] = Counter()

    async def one(key: str | None, steps: int) -> None:
        await slots.acquire(key)
        working[key] += 1
        most[key] = max(most[key], working[key])
        most["all"] = max(most["all"], working.total())
        try:
            for _ in range(steps):
                await asyncio.sleep(0)
        finally:
            working[key] -= 1
            slots.release(key)

    tasks: list[asyncio.Task[None]] = []
    for _ in range(60):
        key = chance.choice(["a", "b", "b", "b", None])
        tasks.append(asyncio.create_task(one(key, chance.randrange(4))))
        if chance.random() < 0.5:
            await asyncio.sleep(0)
        if chance.random() < 0.5:
            chance.choice(tasks).cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most["all"] <= count
    assert max(most["a"], most["b"]) <= share_of(count)
    assert slots.taken == slots.waiting == working.total() == 0
    assert [await slots.try_acquire(None) for _ in range(count)] == [True] * count
