"""Waits for work for so long and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

_left: set[asyncio.Task[Any]] = set()
"""Work that was cancelled and has not ended yet: the event loop itself keeps no task alive."""


async def in_time(work: Coroutine[Any, Any, Result], *, seconds: float) -> Result:
    """Return the result of ``work``. Where it is late it is cancelled, and not waited for.

    A database that hangs takes many seconds to let go of a statement that is cancelled. Raises TimeoutError.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            _left.add(task)
        task.add_done_callback(_ended)  # also of one that failed as the waiting was cancelled


def _ended(task: asyncio.Task[Any]) -> None:
    _left.discard(task)
    if not task.cancelled():
        task.exception()  # what it says now, nobody waits for
