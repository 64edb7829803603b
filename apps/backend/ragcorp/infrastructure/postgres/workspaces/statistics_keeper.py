"""Refreshes the search statistics in the background: after writes, and when a search finds them outdated."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ragcorp.domain.exceptions import RagcorpError

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 2.0
"""Writes within this time cause one refresh."""

CLOSING_SECONDS = 60.0
"""Time that ``aclose`` waits for the last refresh after writes."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 10.0, 3600.0
"""Pause between two refreshes for searches of a workspace. It doubles after each that failed or changed nothing."""


class StatisticsKeeper:
    """Calls ``refresh_if_stale(workspace)``, which returns whether it refreshed anything. Nothing here blocks."""

    def __init__(
        self,
        *,
        refresh_if_stale: Callable[[str], Awaitable[bool]],
        settle_seconds: float = SETTLE_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self._refresh_if_stale = refresh_if_stale
        self._settle_seconds = settle_seconds
        self._first_pause_seconds = first_pause_seconds
        self._touched: set[str] = set()
        self._after_writes: dict[str, asyncio.Task[None]] = {}
        self._for_searches: dict[str, asyncio.Task[None]] = {}
        self._pauses: dict[str, tuple[float, float]] = {}
        self._closing = asyncio.Event()

    def touch(self, workspace: str) -> None:
        """Record that this process changed chunks or vectors of the workspace; a refresh follows."""
        self._touched.add(workspace)
        if workspace not in self._after_writes:
            task = asyncio.get_running_loop().create_task(self._refresh_after_writes(workspace))
            self._after_writes[workspace] = task

    def found_stale(self, workspace: str) -> None:
        """Record that a search found outdated statistics: a refresh starts, unless one runs or a pause has not ended.

        ``aclose`` cancels it: the next search of any process starts it again.
        """
        loop = asyncio.get_running_loop()
        running = workspace in self._after_writes or workspace in self._for_searches
        _, paused_until = self._pauses.get(workspace, (0.0, 0.0))
        if not (running or self._closing.is_set() or loop.time() < paused_until):
            self._for_searches[workspace] = loop.create_task(self._refresh_for_search(workspace))

    async def aclose(self) -> None:
        """Refresh the touched workspaces a last time, within a bounded time."""
        self._closing.set()
        searches, writes = list(self._for_searches.values()), list(self._after_writes.values())
        for task in searches:
            task.cancel()
        if searches:
            await asyncio.wait(searches)
        if writes:
            _, late = await asyncio.wait(writes, timeout=CLOSING_SECONDS)
            for task in late:
                task.cancel()

    async def _refresh_after_writes(self, workspace: str) -> None:
        try:
            while workspace in self._touched:
                try:
                    async with asyncio.timeout(self._settle_seconds):
                        await self._closing.wait()
                except TimeoutError:
                    pass
                self._touched.discard(workspace)
                await self._refreshed(workspace)
        finally:
            self._after_writes.pop(workspace, None)

    async def _refresh_for_search(self, workspace: str) -> None:
        try:
            refreshed = await self._refreshed(workspace)
            last_pause, _ = self._pauses.get(workspace, (0.0, 0.0))
            pause = max(self._first_pause_seconds, 0.0 if refreshed else min(2 * last_pause, LONGEST_PAUSE_SECONDS))
            self._pauses[workspace] = (pause, asyncio.get_running_loop().time() + pause)
        finally:
            self._for_searches.pop(workspace, None)

    async def _refreshed(self, workspace: str) -> bool:
        try:
            return await self._refresh_if_stale(workspace)
        except RagcorpError:
            logger.warning("search statistics of a workspace were not refreshed", exc_info=True)
            return False
