"""Use case: keep the documents in step with a tree of files for as long as it runs."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Never

import anyio.to_thread

from ragcorp.application.folders.sync import SyncFolder
from ragcorp.application.resilience.source_reports import reason_of
from ragcorp.domain.exceptions import ConflictError, RagcorpError, SourceUnavailableError, StorageUnavailableError
from ragcorp.domain.ports.folders import (
    FolderFiles,
    FolderOptions,
    FolderTask,
    FolderWatching,
    OnEvent,
    OnProgress,
    TreeChanges,
    WatchEvent,
    WatchKind,
)
from ragcorp.domain.principal import Principal

MAX_PLACES = 1_000
"""Changes in more places at once cause a comparison of the whole tree, which costs no more."""

BURST = 50
"""From this many changed documents at once, a summary is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTimes:
    """Seconds. ``comparison``: between two comparisons of the whole tree, despite notifications; ``unwatched``: where
    the system sends none.

    ``retry``: until a missing folder is checked again. ``first_backoff`` and ``last_backoff`` bound the waits for an
    unavailable database, each twice as long as the one before.
    """

    comparison: float = 300.0
    unwatched: float = 30.0
    retry: float = 2.0
    first_backoff: float = 1.0
    last_backoff: float = 30.0


@dataclass(slots=True, kw_only=True)
class _Watch:
    """One watch: pending places and times, and the reported reason for waiting (``waits_for``)."""

    task: FolderTask
    places: set[str] = field(default_factory=set)
    everything: bool = True
    not_before: float = 0.0
    compared_at: float = 0.0
    backoff: float = 0.0
    waits_for: str | None = None
    was_in_step: bool = False
    opened: tuple[int, int] | None = None

    def add(self, changes: TreeChanges) -> None:
        self.places |= changes.paths
        if changes.everything or len(self.places) > MAX_PLACES:
            self.everything = True

    def waits(self, error: RagcorpError) -> None:
        reason = reason_of(error)
        if self.waits_for != reason:
            self.waits_for, self.was_in_step = reason, False
            self.task.on_event(WatchEvent(kind=WatchKind.WAITING, error=error))


class WatchFolder:
    """Compares the whole tree first, then the places that the system reports, and the whole again from time to time."""

    def __init__(
        self, *, sync: SyncFolder, files: FolderFiles, watching: FolderWatching, times: WatchTimes | None = None
    ) -> None:
        self._sync = sync
        self._files = files
        self._watching = watching
        self._times = times or WatchTimes()

    async def watch(
        self,
        path: Path,
        *,
        principal: Principal,
        options: FolderOptions,
        on_event: OnEvent,
        on_progress: OnProgress | None = None,
    ) -> Never:
        """Run until cancelled, through outages of folder and database. Raises MissingFileError for a missing path."""
        tree = await anyio.to_thread.run_sync(self._files.locate, path)
        watch = _Watch(
            task=FolderTask(tree=tree, principal=principal, options=options, on_event=on_event, on_progress=on_progress)
        )
        while True:
            watch.everything = True
            watch.opened = (await anyio.to_thread.run_sync(self._files.state, tree)).identity
            try:
                await self._follow(watch)
            except SourceUnavailableError as error:
                watch.task.on_event(WatchEvent(kind=WatchKind.WAITING, error=error))
                await self._compare_by_time(watch)
            await asyncio.sleep(self._times.retry)

    async def _follow(self, watch: _Watch) -> None:
        """Return when the watch must be opened again. Raises SourceUnavailableError if the system cannot watch."""
        if watch.opened is None:
            await self._pass(watch)
            return
        async with aclosing(self._watching.changes(watch.task.tree)) as changes:
            async for change in changes:
                watch.add(change)
                if not await self._step(watch):
                    return
        await self._step(watch)

    async def _compare_by_time(self, watch: _Watch) -> None:
        """Do without the system's word."""
        while await self._step(watch):
            await asyncio.sleep(self._times.unwatched)
            watch.everything = True

    async def _step(self, watch: _Watch) -> bool:
        """Process pending changes; return whether the tree is still the watched one."""
        now = asyncio.get_running_loop().time()
        if now - watch.compared_at >= self._times.comparison:
            watch.everything = True
        if now < watch.not_before:
            return True
        state = await anyio.to_thread.run_sync(self._files.state, watch.task.tree)
        if state.identity != watch.opened:
            watch.everything = True
        if watch.everything or watch.places:
            await self._pass(watch)
        return state.identity == watch.opened and state.identity is not None

    async def _pass(self, watch: _Watch) -> None:
        whole, places = watch.everything, frozenset(watch.places)
        loop = asyncio.get_running_loop()
        try:
            outcome = await self._sync.sync(watch.task, below=None if whole else places)
        except (StorageUnavailableError, ConflictError) as error:
            watch.backoff = min(max(self._times.first_backoff, 2 * watch.backoff), self._times.last_backoff)
            watch.not_before = loop.time() + watch.backoff
            watch.waits(error)
            return
        watch.backoff = 0.0
        watch.not_before = 0.0
        if outcome.waiting is not None:
            watch.everything = True
            watch.not_before = loop.time() + self._times.retry
            watch.waits(outcome.waiting)
            return
        watch.places = set(outcome.again)
        watch.everything = False
        if whole:
            watch.compared_at = loop.time()
        changes = outcome.counts.created + outcome.counts.updated + outcome.counts.deleted
        if not watch.was_in_step or changes >= BURST:
            watch.task.on_event(WatchEvent(kind=WatchKind.IN_STEP, counts=outcome.counts))
        watch.was_in_step, watch.waits_for = True, None
