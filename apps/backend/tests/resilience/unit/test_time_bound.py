"""Work is waited for until its deadline and no longer, whatever it does when it is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from ragcorp.application.resilience.time_bound import leave_behind, run_until, run_within

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
    deadline = asyncio.get_running_loop().time() + 5
    assert await run_until(deadline, value()) == 7
    with pytest.raises(ValueError, match="a bug"):
        await run_until(deadline, failing())


async def test_work_that_takes_long_to_end_is_left_behind() -> None:
    ended = asyncio.Event()
    with pytest.raises(TimeoutError):
        await run_until(asyncio.get_running_loop().time() + 0.02, stubborn(ended))
    assert not ended.is_set()
    async with asyncio.timeout(5):
        await ended.wait()


async def test_a_caller_that_is_cancelled_does_not_wait_for_it_either() -> None:
    ended = asyncio.Event()
    caller = asyncio.create_task(run_until(asyncio.get_running_loop().time() + 30, stubborn(ended)))
    await asyncio.sleep(0.02)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not ended.is_set()
    async with asyncio.timeout(5):
        await ended.wait()


async def failing_late(ended: asyncio.Event) -> int:
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        ended.set()
        raise ValueError("a late bug") from None
    return 0


async def test_only_a_deadline_logs_a_late_failure(caplog: pytest.LogCaptureFixture) -> None:
    for logged in (True, False):
        caplog.clear()
        ended = asyncio.Event()
        with pytest.raises(TimeoutError):
            if logged:
                await run_until(asyncio.get_running_loop().time() + 0.02, failing_late(ended))
            else:
                await run_within(0.02, failing_late(ended))
        async with asyncio.timeout(5):
            await ended.wait()
        await asyncio.sleep(0.02)
        assert ("left behind" in caplog.text) == logged
        assert "never retrieved" not in caplog.text


async def test_a_task_that_has_ended_is_left_as_it_is() -> None:
    task = asyncio.ensure_future(value())
    await asyncio.wait([task])
    leave_behind(task)
    assert task.result() == 7
