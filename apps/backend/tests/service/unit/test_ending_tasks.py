"""How the service ends its workers."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from ragcorp.main.service import background

pytestmark = pytest.mark.anyio


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "CANCEL_AGAIN_SECONDS", 0.01)
    begun = asyncio.Event()

    async def stubborn() -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    task = asyncio.create_task(stubborn())
    await begun.wait()
    async with asyncio.timeout(30):
        await background._ended([task])
    assert task.cancelled()
