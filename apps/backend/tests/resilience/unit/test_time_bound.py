"""Work is waited for until its deadline and no longer, whatever it does when it is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from ragcorp.application.resilience.time_bound import TimeBound

pytestmark = pytest.mark.anyio


async def value() -> int:
    return 7


async def failing() -> int:
    raise ValueError("a bug")


async def stubborn(ended: asyncio.Event) -> int:
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        await asyncio.sleep(0.3)
        ended.set()
        raise
    return 0


async def test_work_in_time_gives_its_result_and_its_error() -> None:
    bound = TimeBound()
    deadline = asyncio.get_running_loop().time() + 5
    assert await bound.run(value(), deadline=deadline) == 7
    with pytest.raises(ValueError, match="a bug"):
        await bound.run(failing(), deadline=deadline)


async def test_work_that_takes_long_to_end_is_left_behind() -> None:
    bound, ended = TimeBound(), asyncio.Event()
    with pytest.raises(TimeoutError):
        await bound.run(stubborn(ended), deadline=asyncio.get_running_loop().time() + 0.02)
    assert not ended.is_set()
    async with asyncio.timeout(5):
        await ended.wait()


async def test_a_caller_that_is_cancelled_does_not_wait_for_it_either() -> None:
    bound, ended = TimeBound(), asyncio.Event()
    caller = asyncio.create_task(bound.run(stubborn(ended), deadline=asyncio.get_running_loop().time() + 30))
    await asyncio.sleep(0.02)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not ended.is_set()
    async with asyncio.timeout(5):
        await ended.wait()
