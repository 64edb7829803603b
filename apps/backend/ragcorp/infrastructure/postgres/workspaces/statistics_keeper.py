"""Refreshes the statistics of ranking in the background after writes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ragcorp.domain.exceptions import RagcorpError

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 2.0
"""Writes within this time cause one refresh."""

CLOSING_SECONDS = 60.0
"""Time that ``aclose`` waits for the last refresh."""


class StatisticsKeeper:
    """Calls ``refresh_if_stale(workspace)`` shortly after the workspace was touched, and at the end."""

    def __init__(
        self, *, refresh_if_stale: Callable[[str], Awaitable[object]], settle_seconds: float = SETTLE_SECONDS
    ) -> None:
        self._refresh_if_stale = refresh_if_stale
        self._settle_seconds = settle_seconds
        self._touched: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closing = asyncio.Event()

    def touch(self, workspace: str) -> None:
        """Record that chunks or vectors of the workspace changed. Never blocks and never fails."""
        self._touched.add(workspace)
        if workspace not in self._tasks:
            self._tasks[workspace] = asyncio.get_running_loop().create_task(self._keep(workspace))

    async def aclose(self) -> None:
        """Refresh the touched workspaces a last time, within a bounded time."""
        self._closing.set()
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
            for task in late:
                task.cancel()

    async def _keep(self, workspace: str) -> None:
        try:
            while workspace in self._touched:
                try:
                    async with asyncio.timeout(self._settle_seconds):
                        await self._closing.wait()
                except TimeoutError:
                    pass
                self._touched.discard(workspace)
                try:
                    await self._refresh_if_stale(workspace)
                except RagcorpError:
                    logger.warning("search statistics of a workspace were not refreshed", exc_info=True)
        finally:
            self._tasks.pop(workspace, None)
