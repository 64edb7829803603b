"""Places: no more than there are, in order of arrival, and none lost however requests end."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcorp.application.admission import Admission
from ragcorp.domain.exceptions import BusyError

pytestmark = pytest.mark.anyio


def admission(*, places: int = 1, wait_seconds: float = 30.0, most_waiting: int = 100) -> Admission:
    return Admission(places=places, wait_seconds=wait_seconds, most_waiting=most_waiting)


async def test_places_are_given_in_order_of_arrival() -> None:
    gate = admission()
    await gate.enter()
    order: list[int] = []

    async def one(number: int) -> None:
        await gate.enter()
        order.append(number)
        gate.leave()

    tasks = [asyncio.create_task(one(number)) for number in range(5)]
    await asyncio.sleep(0)
    assert not gate.enter_at_once()
    gate.leave()
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2, 3, 4]
    assert gate.taken == 0


async def test_who_comes_while_others_wait_does_not_overtake_them() -> None:
    gate = admission()
    await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await asyncio.sleep(0)
    gate.leave()  # the place is the waiting one's, which has not run yet
    assert not gate.enter_at_once()
    await waiting


async def test_a_wait_ends() -> None:
    gate = admission(wait_seconds=0.01)
    await gate.enter()
    with pytest.raises(BusyError):
        await gate.enter()
    assert gate.waiting == 0
    gate.leave()
    await gate.enter()


async def test_the_queue_is_bounded() -> None:
    gate = admission(most_waiting=1)
    await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await gate.enter()
    gate.leave()
    await waiting


async def test_a_place_that_comes_with_a_cancellation_is_passed_on() -> None:
    gate = admission()
    await gate.enter()
    first = asyncio.create_task(gate.enter())
    second = asyncio.create_task(gate.enter())
    await asyncio.sleep(0)
    gate.leave()
    first.cancel()  # the place is given, and nobody takes it
    await asyncio.gather(first, return_exceptions=True)
    assert first.cancelled()
    await second
    assert gate.taken == 1


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), places=st.integers(1, 4))
async def test_no_place_is_lost_or_made_when_tasks_are_cancelled_at_random(seed: int, places: int) -> None:
    chance = random.Random(seed)
    gate = admission(places=places, wait_seconds=0.003, most_waiting=15)
    working = most = 0

    async def one(steps: int) -> None:
        nonlocal working, most
        await gate.enter()
        working += 1
        most = max(most, working)
        try:
            for _ in range(steps):
                await asyncio.sleep(0)
        finally:
            working -= 1
            gate.leave()

    tasks: list[asyncio.Task[None]] = []
    for _ in range(60):
        tasks.append(asyncio.create_task(one(chance.randrange(4))))
        if chance.random() < 0.5:
            await asyncio.sleep(0)
        if chance.random() < 0.5:
            chance.choice(tasks).cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most <= places
    assert gate.taken == gate.waiting == working == 0
