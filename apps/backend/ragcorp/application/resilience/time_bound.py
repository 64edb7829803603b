"""Waits for work until a deadline and no longer, however long the work takes to end after it was cancelled.

A database driver that is cancelled asks its server to stop and waits for it: of a server that hangs, for many seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class TimeBound:
    """Runs work as tasks; one that is late is cancelled and left behind."""

    def __init__(self) -> None:
        self._left: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, Result], *, deadline: float) -> Result:
        """Return what the work returns. ``deadline`` is on the event loop's clock.

        Raises TimeoutError at the deadline, and what the work raises.
        """
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        try:
            await asyncio.wait([task], timeout=max(0.0, deadline - loop.time()))
        finally:
            if not task.done():
                task.cancel()
                self._left.add(task)  # the event loop itself keeps no task alive
                task.add_done_callback(self._ended)
        if task in self._left:
            raise TimeoutError
        return task.result()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._left.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("work that was left behind at its deadline failed", exc_info=error)
