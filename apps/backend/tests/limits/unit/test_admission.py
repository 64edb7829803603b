"""Places: no more than there are, by turns of keys, in order of arrival, and none lost however requests end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcorp.application.limits.admission import Admission, share_of
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


@pytest.mark.parametrize(("places", "share"), [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (100, 75)])
def test_one_key_leaves_places_for_another(places: int, share: int) -> None:
    gate = admission(places=places)
    assert share_of(places) == share
    assert [gate.enter_at_once("b") for _ in range(places)] == [number < share for number in range(places)]
    assert [gate.enter_at_once("a") for _ in range(places - share)] == [True] * (places - share)
    assert not gate.enter_at_once("a")


def test_the_local_user_who_is_alone_may_hold_all_places() -> None:
    gate = admission(places=8)
    assert [gate.enter_at_once(None) for _ in range(9)] == [True] * 8 + [False]


async def test_keys_take_turns_and_the_requests_of_one_come_in_their_order() -> None:
    gate = admission()
    await gate.enter("d")
    order: list[str] = []

    async def one(key: str, number: int) -> None:
        await gate.enter(key)
        order.append(f"{key}{number}")
        gate.leave(key)

    tasks = [asyncio.create_task(one("b", number)) for number in range(5)]
    tasks += [asyncio.create_task(one("a", number)) for number in range(2)]
    tasks += [asyncio.create_task(one("c", number)) for number in range(1)]
    await asyncio.sleep(0)
    gate.leave("d")
    await asyncio.gather(*tasks)
    assert order == ["b0", "a0", "c0", "b1", "a1", "b2", "b3", "b4"]


async def test_a_key_that_has_its_share_is_passed_over_until_it_gives_a_place_back() -> None:
    gate = admission(places=2)
    await gate.enter("b")
    await gate.enter("a")
    more = asyncio.create_task(gate.enter("b"))
    await asyncio.sleep(0)
    gate.leave("a")  # b waits first, and has its share
    await asyncio.sleep(0)
    assert not more.done()
    assert gate.enter_at_once("a")
    gate.leave("b")
    await more
    assert gate.taken == 2


async def test_a_flood_of_one_key_keeps_nobody_else_out_of_the_queue() -> None:
    gate = admission(most_waiting=3)
    await gate.enter("d")
    flood = [asyncio.create_task(gate.enter("b")) for _ in range(4)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert isinstance(flood[3].exception(), BusyError)
    waits = asyncio.create_task(gate.enter("a"))
    await asyncio.wait({flood[2]})  # the newest gives its turn up
    assert isinstance(flood[2].exception(), BusyError)
    assert (gate.waiting, flood[0].done(), flood[1].done(), waits.done()) == (3, False, False, False)
    with pytest.raises(BusyError):  # with one less in the queue than b, a takes nobody's turn
        await gate.enter("a")
    gate.leave("d")
    await flood[0]
    gate.leave("b")
    await waits


async def test_a_turn_that_is_given_up_and_cancelled_at_once_gives_no_place() -> None:
    gate = admission(most_waiting=2)
    await gate.enter("d")
    flood = [asyncio.create_task(gate.enter("b")) for _ in range(2)]
    await asyncio.sleep(0)
    other = asyncio.create_task(gate.enter("a"))
    await asyncio.sleep(0)
    flood[1].cancel()
    await asyncio.gather(flood[1], return_exceptions=True)
    assert (gate.taken, gate.waiting) == (1, 2)
    other.cancel()
    flood[0].cancel()
    await asyncio.gather(other, flood[0], return_exceptions=True)
    assert (gate.taken, gate.waiting) == (1, 0)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), places=st.integers(1, 4))
async def test_no_place_is_lost_or_made_when_tasks_are_cancelled_at_random(seed: int, places: int) -> None:
    chance = random.Random(seed)
    gate = admission(places=places, wait_seconds=0.003, most_waiting=15)
    working: Counter[str | None] = Counter()
    most: Counter[str | None] = Counter()

    async def one(key: str | None, steps: int) -> None:
        await gate.enter(key)
        working[key] += 1
        most[key] = max(most[key], working[key])
        most["all"] = max(most["all"], working.total())
        try:
            for _ in range(steps):
                await asyncio.sleep(0)
        finally:
            working[key] -= 1
            gate.leave(key)

    tasks: list[asyncio.Task[None]] = []
    for _ in range(60):
        key = chance.choice(["a", "b", "b", "b", None])
        tasks.append(asyncio.create_task(one(key, chance.randrange(4))))
        if chance.random() < 0.5:
            await asyncio.sleep(0)
        if chance.random() < 0.5:
            chance.choice(tasks).cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most["all"] <= places
    assert max(most["a"], most["b"]) <= share_of(places)
    assert gate.taken == gate.waiting == working.total() == 0
    assert [gate.enter_at_once(None) for _ in range(places)] == [True] * places
