"""A shared context: opened once in its own task, opened again after a failure, and always closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ragcorp.interface.mcp.shared_context import SharedContext

pytestmark = pytest.mark.anyio


class Opening:
    """Opens slowly, or fails, as it is told."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.error: Exception | None = None
        self.events: list[str] = []
        self.tasks: set[asyncio.Task[object] | None] = set()

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[int]:
        self.events.append("opening")
        self.tasks.add(asyncio.current_task())
        try:
            await self.gate.wait()
            if self.error is not None:
                raise self.error
            yield len(self.events)
        finally:
            self.tasks.add(asyncio.current_task())
            self.events.append("closed")


async def test_many_wait_for_one_opening() -> None:
    opening = Opening()
    shared = SharedContext(opening, name="it")
    shared.start()
    waiting = [asyncio.create_task(shared.value()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    opening.gate.set()
    assert await asyncio.gather(*waiting) == [1, 1, 1]
    await shared.aclose()
    assert opening.events == ["opening", "closed"]
    assert len(opening.tasks) == 1, "it was entered in one task and left in another"


async def test_one_who_gives_up_waiting_stops_nothing() -> None:
    opening = Opening()
    shared = SharedContext(opening, name="it")
    impatient = asyncio.create_task(shared.value())
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    opening.gate.set()
    assert await shared.value() == 1
    await shared.aclose()


async def test_a_failed_opening_is_tried_anew() -> None:
    opening = Opening()
    opening.gate.set()
    opening.error = ValueError("out")
    shared = SharedContext(opening, name="it")
    for _ in range(2):
        with pytest.raises(ValueError, match="out"):
            await shared.value()
    opening.error = None
    assert await shared.value() == 5
    await shared.aclose()
    assert opening.events == ["opening", "closed"] * 3


async def test_an_opening_that_goes_on_is_broken_off() -> None:
    opening = Opening()
    shared = SharedContext(opening, name="it")
    waiting = asyncio.create_task(shared.value())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await shared.aclose()
    assert opening.events == ["opening", "closed"]
    (outcome,) = await asyncio.gather(waiting, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError)
    with pytest.raises(RuntimeError, match="it is closed"):
        await shared.value()


async def test_what_was_never_opened_is_closed_at_once() -> None:
    opening = Opening()
    shared = SharedContext(opening, name="it")
    await shared.aclose()
    await shared.aclose()
    assert opening.events == []


async def test_a_cancelled_closing_still_closes() -> None:
    opening = Opening()
    opening.gate.set()
    slow = asyncio.Event()

    @asynccontextmanager
    async def slowly() -> AsyncIterator[int]:
        async with opening() as value:
            try:
                yield value
            finally:
                await slow.wait()

    shared = SharedContext(slowly, name="it")
    await shared.value()
    closing = asyncio.create_task(shared.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.sleep(0)
    assert not closing.done()
    slow.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert opening.events == ["opening", "closed"]
