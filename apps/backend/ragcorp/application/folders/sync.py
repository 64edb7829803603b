"""Use case: bring the documents in step with a tree of files, once: all of it, or some of its paths."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import anyio.to_thread

from ragcorp.application.folders.documents import FolderDocuments, StoredFile, unlisted
from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import ConflictError, NotFoundError, RagcorpError, SourceUnavailableError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.folders import (
    FileEntry,
    FileStamp,
    FolderFiles,
    FolderRecords,
    FolderScan,
    FolderTask,
    RecordedFile,
    ScannedFile,
    SyncCounts,
    SyncOutcome,
    TreeState,
    WatchEvent,
    WatchKind,
    WatchMemory,
    is_at,
)
from ragcorp.domain.text.checks import escaped

QUIET_NS = 500_000_000
"""A file that changed less long ago is being written."""
LONGEST_WRITE_NS = 30_000_000_000
"""A file that is being written for this long is stored in its present state."""

FEW_DELETIONS = 20
"""More at once, if they are more than half of the tree, need ``allow_deletions``."""
BATCH_DELETIONS = 500


@dataclass(slots=True, kw_only=True)
class _Pass:
    """One pass and its results. ``below`` is None for the whole tree."""

    task: FolderTask
    below: Collection[str] | None
    again: set[str] = field(default_factory=set)
    not_stored: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def report(self, kind: WatchKind, relative: str, error: RagcorpError | None = None) -> None:
        self.counts[kind.value] += 1
        self.task.on_event(WatchEvent(kind=kind, external_id=escaped(self.task.options.prefix + relative), error=error))

    def progress(self, done: int, total: int) -> None:
        if self.task.on_progress is not None and total:
            self.task.on_progress(done, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncFolder:
    """Stores new and changed files, then deletes documents of missing files: a renamed file is found at every moment.

    A file with the recorded stamp is not read. A file that cannot be read or stored keeps its stored version. Nothing
    is deleted if the tree cannot be listed, was replaced by another, or is empty. Two processes that sync one tree at
    once reach the same result: both look at the same files, every write is idempotent, and a document that one stores
    while the other deletes it is stored again on the next pass.
    """

    documents: FolderDocuments
    files: FolderFiles
    records: FolderRecords
    clock_ns: Callable[[], int] = time.time_ns

    async def sync(self, task: FolderTask, *, below: Collection[str] | None = None) -> SyncOutcome:
        """Compare the tree or some paths once. Raises StorageUnavailableError, or ConflictError after another write."""
        before = await anyio.to_thread.run_sync(self.files.state, task.tree)
        if before.identity is None:
            return SyncOutcome(waiting=folder_out())
        scan = await anyio.to_thread.run_sync(
            lambda: self.files.scan(task.tree, below=below, gitignore=task.options.gitignore)
        )
        now = _Pass(task=task, below=below)
        recorded = await self._recorded(now)
        if _is_another(now, scan, recorded, before):
            return SyncOutcome(waiting=_another_folder())
        self._report_unlisted(now, scan)
        due = await anyio.to_thread.run_sync(lambda: self._due(now, scan.files, recorded))
        self._report_replaced(now, scan, recorded, due)
        await self._store(now, due, recorded)
        self._forget_failures(now, {file.entry.relative for file in scan.files})
        waiting = await self._delete(now, recorded, scan=scan, due=due, before=before)
        counts = SyncCounts(
            files=len(scan.files), **{name: now.counts[name] for name in SyncCounts.__slots__ if name != "files"}
        )
        return SyncOutcome(counts=counts, again=frozenset(now.again), waiting=waiting)

    async def _recorded(self, now: _Pass) -> dict[str, RecordedFile]:
        below = now.below if now.task.tree.only is None else [now.task.tree.only]
        rows = await self.records.recorded(
            now.task.tree.key, prefix=now.task.options.prefix, principal=now.task.principal, below=below
        )
        return {row.relative: row for row in rows}

    def _due(self, now: _Pass, files: Sequence[ScannedFile], recorded: Mapping[str, RecordedFile]) -> list[ScannedFile]:
        """Return the files to read."""
        described = self.documents.described(now.task.options)
        due: list[ScannedFile] = []
        for file in files:
            relative = file.entry.relative
            row = recorded.get(relative)
            if not file.stamp.size and now.task.tree.only is None:
                continue  # an empty file keeps its stored version
            if now.task.memory.failed.get(relative) == (file.stamp, False):
                now.counts["failed"] += 1
                now.not_stored.add(relative)
            elif row is not None and _is_in_step(row, file, described):
                now.counts["unchanged"] += 1
                now.task.memory.moving.pop(relative, None)
            elif _is_moving(file) and not _is_overdue(now.task.memory, file):
                now.task.memory.moving.setdefault(relative, file.seen_ns)
                now.again.add(relative)
                now.not_stored.add(relative)
            else:
                due.append(file)
        return due

    async def _store(self, now: _Pass, due: Sequence[ScannedFile], recorded: Mapping[str, RecordedFile]) -> None:
        stored = self.documents.store(
            [file.entry for file in due],
            folder=now.task.tree.key,
            options=now.task.options,
            principal=now.task.principal,
            even_moving=frozenset(file.entry.relative for file in due if _is_overdue(now.task.memory, file)),
        )
        stamps = {file.entry.relative: file.stamp for file in due}
        done = 0
        now.progress(0, len(due))
        async with aclosing(stored) as batches:
            async for batch in batches:
                for file in batch:
                    self._record(now, file, stamps[file.entry.relative], recorded.get(file.entry.relative))
                done += len(batch)
                now.progress(done, len(due))

    def _record(self, now: _Pass, file: StoredFile, seen: FileStamp, row: RecordedFile | None) -> None:
        """Record the outcome of a file."""
        relative, outcome, memory = file.entry.relative, file.outcome, now.task.memory
        if isinstance(outcome, IngestResult):
            memory.failed.pop(relative, None)
            memory.moving.pop(relative, None)
            memory.replaced.discard(relative)
            if outcome.status is IngestStatus.UNCHANGED:
                now.counts["unchanged"] += 1
            else:
                others = outcome.status is IngestStatus.UPDATED and (row is None or (row.stored and not row.owned))
                now.report(WatchKind(outcome.status.value), relative, _took_the_place() if others else None)
            return
        now.not_stored.add(relative)
        if outcome is None or isinstance(outcome.error, NotFoundError):  # written, or gone, while it was read
            memory.moving.setdefault(relative, self.clock_ns())
            now.again.add(relative)
            return
        memory.moving.pop(relative, None)
        failed = (seen, file.unread or isinstance(outcome.error, ConflictError))
        if memory.failed.get(relative) == failed:
            now.counts["failed"] += 1
        else:
            memory.failed[relative] = failed
            now.report(WatchKind.FAILED, relative, outcome.error)

    async def _delete(
        self,
        now: _Pass,
        recorded: Mapping[str, RecordedFile],
        *,
        scan: FolderScan,
        due: Sequence[ScannedFile],
        before: TreeState,
    ) -> RagcorpError | None:
        """Delete the documents of missing files; return the reason if the folder is unavailable."""
        present = {file.entry.relative for file in scan.files}
        gone = [file for path, file in recorded.items() if path not in present and not _is_below(path, scan.unlisted)]
        if not gone:
            now.task.memory.held_back = now.task.memory.held_back if now.below is not None else 0
            return None
        after = await anyio.to_thread.run_sync(self.files.state, now.task.tree)
        if after.identity != before.identity:
            return folder_out()
        if (before.empty or after.empty) and not now.task.options.allow_deletions:
            return SourceUnavailableError(
                "The folder is empty, and its documents stay.",
                reason="empty",
                remedy="Mount its disk; if it is empty on purpose, start again with --allow-deletions.",
            )
        coming = {_content(file.stamp) for file in scan.files if file.entry.relative in now.not_stored}
        # stored first under its new name, deleted under the old one then
        postponed = {file.relative for file in gone if file.stamp is not None and _content(file.stamp) in coming}
        if now.again:
            now.again |= postponed
        gone = [file for file in gone if file.relative not in postponed]
        added: Counter[tuple[int, int] | None] = Counter(
            _content(file.stamp) for file in due if file.entry.relative not in recorded
        )
        lost = (Counter(file.stamp and _content(file.stamp) for file in gone) - added).total()
        if lost > FEW_DELETIONS and not now.task.options.allow_deletions:
            total = await self.records.count(
                now.task.tree.key, prefix=now.task.options.prefix, principal=now.task.principal
            )
            if lost * 2 > total - added.total():
                self._hold_back(now, lost)
                return None
        if now.below is None:
            now.task.memory.held_back = 0
        now.progress(0, len(gone))
        for start in range(0, len(gone), BATCH_DELETIONS):
            await self._forget(now, gone[start : start + BATCH_DELETIONS])
            now.progress(min(start + BATCH_DELETIONS, len(gone)), len(gone))
        return None

    async def _forget(self, now: _Pass, gone: Sequence[RecordedFile]) -> None:
        by_path = {file.relative: file for file in gone}
        still = await anyio.to_thread.run_sync(
            lambda: self.files.still_gone(now.task.tree, list(by_path), gitignore=now.task.options.gitignore)
        )
        names = [by_path[path].external_id for path in still]
        deleted = await self.records.forget(now.task.tree.key, names, principal=now.task.principal)
        for path in still:
            now.task.memory.moving.pop(path, None)
            if by_path[path].external_id in deleted:
                now.report(WatchKind.DELETED, path)
            elif by_path[path].stored:
                now.report(
                    WatchKind.KEPT,
                    path,
                    ConflictError(
                        "The file is gone; its document was stored or changed by others, and stays.",
                        remedy="`ragcorp documents delete` deletes it.",
                    ),
                )

    def _hold_back(self, now: _Pass, lost: int) -> None:
        if now.task.memory.held_back != lost:
            now.task.memory.held_back = lost
            error = ConflictError(
                f"{lost:,} files are gone, more than half of the folder: their documents stay.",
                limit=f"{FEW_DELETIONS} files, or half of the folder",
                remedy="Bring the files back, or start again with --allow-deletions.",
            )
            now.task.on_event(WatchEvent(kind=WatchKind.HELD_BACK, error=error))

    def _report_replaced(
        self, now: _Pass, scan: FolderScan, recorded: Mapping[str, RecordedFile], due: Sequence[ScannedFile]
    ) -> None:
        reported = now.task.memory.replaced | {file.entry.relative for file in due}
        for path in (file.entry.relative for file in scan.files):
            if path in recorded and recorded[path].replaced and path not in reported:
                now.task.memory.replaced.add(path)
                now.report(WatchKind.KEPT, path, _has_the_place())

    def _report_unlisted(self, now: _Pass, scan: FolderScan) -> None:
        for path in scan.unlisted:
            if path not in now.task.memory.unlisted:
                now.report(WatchKind.FAILED, path, unlisted())
        now.task.memory.unlisted = (now.task.memory.unlisted if now.below is not None else frozenset()) | set(
            scan.unlisted
        )

    def _forget_failures(self, now: _Pass, present: Collection[str]) -> None:
        for memory in (now.task.memory.failed, now.task.memory.moving):
            for path in [path for path in memory if path not in present and _is_below(path, now.below or ("",))]:
                del memory[path]


def folder_out() -> SourceUnavailableError:
    """Return the error of a tree that is not there."""
    return SourceUnavailableError(
        "The folder is not there, or cannot be read; its documents stay.",
        reason="missing",
        remedy="Check the path, its permissions and the disk.",
    )


def _is_another(now: _Pass, scan: FolderScan, recorded: Mapping[str, RecordedFile], state: TreeState) -> bool:
    """Return whether another folder seems to replace the stored one: no file by path, or by size and time."""
    if now.below is not None or now.task.options.allow_deletions or now.task.memory.identity == state.identity:
        return False
    stored = {path: row for path, row in recorded.items() if row.stored}
    contents = {_content(row.stamp) for row in stored.values() if row.stamp is not None}
    left = any(file.entry.relative in stored or _content(file.stamp) in contents for file in scan.files)
    if (
        now.task.tree.only is None
        and stored
        and not left
        and not any(_is_below(path, scan.unlisted) for path in stored)
    ):
        return not state.empty
    now.task.memory.identity = state.identity
    return False


def _another_folder() -> SourceUnavailableError:
    return SourceUnavailableError(
        "The folder contains none of the files that were stored from it; their documents stay.",
        reason="another_folder",
        remedy="Mount its disk, or bring the files back; if it was replaced on purpose, start again with "
        "--allow-deletions.",
    )


def _took_the_place() -> ConflictError:
    return ConflictError(
        "It took the place of a document that was stored or changed by others.",
        field="external_id",
        remedy="A --prefix of its own keeps a folder apart.",
    )


def _has_the_place() -> ConflictError:
    return ConflictError(
        "A document that others stored has its place until the file changes.",
        field="external_id",
        remedy="A --prefix of its own keeps a folder apart.",
    )


def _is_in_step(row: RecordedFile, file: ScannedFile, described: Callable[[FileEntry], bytes]) -> bool:
    trusted = row.settled or row.replaced
    return row.stored and trusted and row.stamp == file.stamp and row.described == described(file.entry)


def _is_moving(file: ScannedFile) -> bool:
    return 0 <= file.seen_ns - file.stamp.mtime_ns < QUIET_NS


def _is_overdue(memory: WatchMemory, file: ScannedFile) -> bool:
    since = memory.moving.get(file.entry.relative)
    return since is not None and file.seen_ns - since >= LONGEST_WRITE_NS


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(is_at(path, place) for place in places)


def _content(stamp: FileStamp) -> tuple[int, int]:
    """Return the part of a stamp that a rename keeps."""
    return stamp.size, stamp.mtime_ns
