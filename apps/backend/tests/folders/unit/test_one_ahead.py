"""Making one item ahead of its use: order, errors, cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from ragcorp.application.folders.one_ahead import one_ahead

pytestmark = pytest.mark.anyio


class Maker:
    """Makes the numbers from 1 to ``last``, and records what happens to it."""

    def __init__(self, last: int, *, fails_at: int = 0, hangs_at: int = 0) -> None:
        self.made = 0
        self.closed = False
        self._progress = asyncio.Condition()
        self._last, self._fails_at, self._hangs_at = last, fails_at, hangs_at

    async def items(self) -> AsyncGenerator[int]:
        try:
            for number in range(1, self._last + 1):
                if number == self._fails_at:
                    raise ValueError(number)
                async with self._progress:
                    self.made = number
                    self._progress.notify_all()
                if number == self._hangs_at:
                    await asyncio.Event().wait()
                yield number
        finally:
            self.closed = True

    async def until(self, number: int) -> None:
        async with asyncio.timeout(5), self._progress:
            await self._progress.wait_for(lambda: self.made >= number)


async def test_the_next_item_is_made_while_one_is_used() -> None:
    maker = Maker(4)
    used = []
    async for number in one_ahead(maker.items(), alone=lambda _: False):
        await maker.until(min(number + 1, 4))
        await asyncio.sleep(0)
        assert maker.made == min(number + 1, 4)  # one ahead, no more
        used.append(number)
    assert used == [1, 2, 3, 4]
    assert maker.closed


async def test_nothing_is_made_ahead_of_the_use_of_an_item_that_is_alone() -> None:
    maker = Maker(3)
    ahead = []
    async for number in one_ahead(maker.items(), alone=lambda number: number == 2):
        if number == 1:
            await maker.until(2)
        for _ in range(5):
            await asyncio.sleep(0)
        ahead.append(maker.made - number)
    assert ahead == [1, 0, 0]


async def test_an_error_comes_after_the_items_before_it() -> None:
    maker = Maker(4, fails_at=3)
    used = []
    with pytest.raises(ValueError, match="3"):
        async for number in one_ahead(maker.items(), alone=lambda _: False):
            await asyncio.sleep(0.01)  # the error is there already
            used.append(number)
    assert used == [1, 2]


async def test_whoever_stops_early_cancels_what_is_being_made() -> None:
    maker, before = Maker(3, hangs_at=2), asyncio.all_tasks()
    with pytest.raises(KeyError):
        async with aclosing(one_ahead(maker.items(), alone=lambda _: False)) as items:
            async for _ in items:
                await maker.until(2)
                raise KeyError
    assert maker.closed
    assert asyncio.all_tasks() == before


async def test_cancellation_reaches_what_is_waited_for() -> None:
    maker, before = Maker(3, hangs_at=1), asyncio.all_tasks()

    async def use() -> None:
        async with aclosing(one_ahead(maker.items(), alone=lambda _: False)) as items:
            async for _ in items:
                pass

    task = asyncio.create_task(use())
    await maker.until(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert maker.closed
    assert asyncio.all_tasks() == before
