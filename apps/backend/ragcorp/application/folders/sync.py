"""Use case: bring the documents in step with a tree of files, once: all of it, or some of its paths."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import anyio.to_thread

from ragcorp.application.folders.documents import FolderDocuments, StoredFile, unlisted
from ragcorp.domain.documents import IngestStatus, UnreadPart
from ragcorp.domain.exceptions import (
    ConfigurationError,
    ConflictError,
    NotFoundError,
    RagcorpError,
    SourceUnavailableError,
)
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.folders import (
    FileEntry,
    FileStamp,
    FolderFiles,
    FolderRecords,
    FolderScan,
    FolderTask,
    LeftOutFile,
    LeftOutReason,
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
from ragcorp.domain.text.checks import visible

QUIET_NS = 500_000_000
"""A file that changed less long ago is being written."""
LONGEST_WRITE_NS = 30_000_000_000
"""A file that is being written for this long is stored in its present state."""

FEW_DELETIONS = 20
"""More at once, if they are more than half of the tree, need ``allow_deletions``."""
BATCH_DELETIONS = 500


@dataclass(kw_only=True)
class _Pass:
    """One pass over the paths ``below``, or the whole tree: its files, their records, and the results."""

    task: FolderTask
    below: Collection[str] | None
    before: TreeState
    scan: FolderScan
    recorded: Mapping[str, RecordedFile] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)
    not_stored: set[str] = field(default_factory=set)
    empty: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.tree, self.principal = self.task.tree, self.task.principal
        self.options, self.memory = self.task.options, self.task.memory
        self.present = dict.fromkeys(file.relative for file in self.scan.files)

    def report(
        self, kind: WatchKind, relative: str, error: RagcorpError | None = None, unread: tuple[UnreadPart, ...] = ()
    ) -> None:
        self.counts[kind.value] += 1
        external_id = visible(self.options.prefix + relative)
        self.task.on_event(WatchEvent(kind=kind, external_id=external_id, error=error, unread=unread))

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
            return SyncOutcome(waiting=folder_unavailable())
        scan = await anyio.to_thread.run_sync(
            lambda: self.files.scan(task.tree, below=below, gitignore=task.options.gitignore)
        )
        run = _Pass(task=task, below=below, before=before, scan=scan)
        run.recorded = await self._recorded(run)
        if _is_another(run):
            return SyncOutcome(waiting=_another_folder())
        self._report_unlisted(run)
        due = await anyio.to_thread.run_sync(self._due, run)
        self._report_replaced(run, due)
        await self._store(run, due)
        await self._report_left_out(run)
        self._forget_failures(run)
        waiting = await self._delete(run, due)
        counts = SyncCounts(
            files=len(scan.files), **{name: run.counts[name] for name in SyncCounts.__slots__ if name != "files"}
        )
        return SyncOutcome(counts=counts, again=frozenset(run.again), waiting=waiting)

    async def _recorded(self, run: _Pass) -> dict[str, RecordedFile]:
        below = run.below if run.tree.only is None else [run.tree.only]
        rows = await self.records.recorded(
            run.tree.key, prefix=run.options.prefix, principal=run.principal, below=below
        )
        return {row.relative: row for row in rows}

    def _due(self, run: _Pass) -> list[ScannedFile]:
        """Return the files to read."""
        described = self.documents.described(run.options)
        due: list[ScannedFile] = []
        for file in run.scan.files:
            relative = file.relative
            row = run.recorded.get(relative)
            if not file.stamp.size and not _is_moving(file):
                run.empty.add(relative)  # it keeps its stored version
            elif run.memory.failed.get(relative) == (file.stamp, False):
                run.counts["failed"] += 1
                run.not_stored.add(relative)
            elif row is not None and _is_in_step(row, file, described):
                run.counts["unchanged"] += 1
                run.memory.moving.pop(relative, None)
            elif _is_moving(file) and not _is_overdue(run.memory, file):
                run.memory.moving.setdefault(relative, file.seen_ns)
                run.again.add(relative)
                run.not_stored.add(relative)
            else:
                due.append(file)
        return due

    async def _store(self, run: _Pass, due: Sequence[ScannedFile]) -> None:
        stored = self.documents.store(
            [file.entry for file in due],
            folder=run.tree.key,
            options=run.options,
            principal=run.principal,
            even_moving=frozenset(file.relative for file in due if _is_overdue(run.memory, file)),
        )
        stamps = {file.relative: file.stamp for file in due}
        done = 0
        run.progress(0, len(due))
        async with aclosing(stored) as batches:
            async for batch in batches:
                for file in batch:
                    self._record(run, file, stamps[file.relative])
                done += len(batch)
                run.progress(done, len(due))

    def _record(self, run: _Pass, file: StoredFile, seen: FileStamp) -> None:
        """Record the outcome of a file."""
        relative, outcome, memory = file.relative, file.outcome, run.memory
        row = run.recorded.get(relative)
        if isinstance(outcome, IngestResult):
            memory.failed.pop(relative, None)
            memory.moving.pop(relative, None)
            memory.replaced.discard(relative)
            if outcome.status is IngestStatus.UNCHANGED:
                run.counts["unchanged"] += 1
            else:
                others = outcome.status is IngestStatus.UPDATED and (row is None or (row.stored and not row.owned))
                error = _took_the_place() if others else None
                run.report(WatchKind(outcome.status.value), relative, error, outcome.unread)
            return
        run.not_stored.add(relative)
        if file.empty:
            run.empty.add(relative)
            memory.moving.pop(relative, None)
            return
        if outcome is None or isinstance(outcome.error, NotFoundError):  # written, or gone, while it was read
            memory.moving.setdefault(relative, self.clock_ns())
            run.again.add(relative)
            return
        memory.moving.pop(relative, None)
        failed = (seen, file.unread or isinstance(outcome.error, ConflictError | ConfigurationError))
        if memory.failed.get(relative) == failed:
            run.counts["failed"] += 1
        else:
            memory.failed[relative] = failed
            run.report(WatchKind.FAILED, relative, outcome.error)

    async def _delete(self, run: _Pass, due: Sequence[ScannedFile]) -> RagcorpError | None:
        """Delete the documents of missing files; return the reason if the folder is unavailable."""
        scan, recorded = run.scan, run.recorded
        gone = [
            file for path, file in recorded.items() if path not in run.present and not _is_below(path, scan.unlisted)
        ]
        if not gone:
            if run.below is None:
                run.memory.held_back = 0
            return None
        after = await anyio.to_thread.run_sync(self.files.state, run.tree)
        if after.identity != run.before.identity:
            return folder_unavailable()
        if (run.before.empty or after.empty) and not run.options.allow_deletions:
            return SourceUnavailableError(
                "The folder is empty, and its documents stay.",
                reason="empty",
                remedy="Mount its disk; if it is empty on purpose, start again with --allow-deletions.",
            )
        coming = {_content(file.stamp) for file in scan.files if file.relative in run.not_stored}
        # stored first under its new name, deleted under the old one then
        postponed = {file.relative for file in gone if file.stamp is not None and _content(file.stamp) in coming}
        if run.again:
            run.again |= postponed
        gone = [file for file in gone if file.relative not in postponed]
        added: Counter[tuple[int, int] | None] = Counter(
            _content(file.stamp) for file in due if file.relative not in recorded
        )
        lost = (Counter(file.stamp and _content(file.stamp) for file in gone) - added).total()
        if lost > FEW_DELETIONS and not run.options.allow_deletions:
            total = await self.records.count(run.tree.key, prefix=run.options.prefix, principal=run.principal)
            if lost * 2 > total - added.total():
                self._hold_back(run, lost)
                return None
        if run.below is None:
            run.memory.held_back = 0
        run.progress(0, len(gone))
        for start in range(0, len(gone), BATCH_DELETIONS):
            await self._forget(run, gone[start : start + BATCH_DELETIONS])
            run.progress(min(start + BATCH_DELETIONS, len(gone)), len(gone))
        return None

    async def _forget(self, run: _Pass, gone: Sequence[RecordedFile]) -> None:
        by_path = {file.relative: file for file in gone}
        still = await anyio.to_thread.run_sync(
            lambda: self.files.still_gone(run.tree, list(by_path), gitignore=run.options.gitignore)
        )
        names = [by_path[path].external_id for path in still]
        deleted = await self.records.forget(run.tree.key, names, principal=run.principal)
        for path in still:
            run.memory.moving.pop(path, None)
            if by_path[path].external_id in deleted:
                run.report(WatchKind.DELETED, path)
            elif by_path[path].stored:
                run.report(
                    WatchKind.KEPT,
                    path,
                    ConflictError(
                        "The file is gone; its document was stored or changed by others, and stays.",
                        remedy="`ragcorp documents delete` deletes it.",
                    ),
                )

    def _hold_back(self, run: _Pass, lost: int) -> None:
        if run.memory.held_back != lost:
            run.memory.held_back = lost
            error = ConflictError(
                f"{lost:,} files are gone, more than half of the folder: their documents stay.",
                limit=f"{FEW_DELETIONS} files, or half of the folder",
                remedy="Bring the files back, or start again with --allow-deletions.",
            )
            run.task.on_event(WatchEvent(kind=WatchKind.HELD_BACK, error=error))

    def _report_replaced(self, run: _Pass, due: Sequence[ScannedFile]) -> None:
        reported = run.memory.replaced | {file.relative for file in due}
        for path in run.present:
            if path in run.recorded and run.recorded[path].replaced and path not in reported:
                run.memory.replaced.add(path)
                run.report(WatchKind.KEPT, path, _has_the_place())

    def _report_unlisted(self, run: _Pass) -> None:
        for path in run.scan.unlisted:
            if path not in run.memory.unlisted:
                run.report(WatchKind.FAILED, path, unlisted())
        earlier = run.memory.unlisted if run.below is not None else frozenset()
        run.memory.unlisted = earlier | set(run.scan.unlisted)

    async def _report_left_out(self, run: _Pass) -> None:
        left_out = {*run.scan.left_out, *(LeftOutFile(path, LeftOutReason.EMPTY) for path in run.empty)}
        new = sorted(left_out - run.memory.left_out)
        shown = new
        if run.options.gitignore:
            shown = await anyio.to_thread.run_sync(self.files.without_ignored, run.tree, new)
        if shown:
            ignored = run.scan.ignored + len(new) - len(shown) if run.below is None else 0
            run.task.on_event(WatchEvent(kind=WatchKind.LEFT_OUT, left_out=tuple(shown), ignored=ignored))
        if run.below is None:
            run.memory.left_out.clear()
        run.memory.left_out |= left_out

    def _forget_failures(self, run: _Pass) -> None:
        for memory in (run.memory.failed, run.memory.moving):
            for path in [path for path in memory if path not in run.present and _is_below(path, run.below or ("",))]:
                del memory[path]


def folder_unavailable() -> SourceUnavailableError:
    """Return the error of a tree that is not there."""
    return SourceUnavailableError(
        "The folder is not there, or cannot be read; its documents stay.",
        reason="missing",
        remedy="Check the path, its permissions and the disk.",
    )


def _is_another(run: _Pass) -> bool:
    """Return whether another folder seems to replace the stored one: no file by path, or by size and time."""
    if run.below is not None or run.options.allow_deletions or run.memory.identity == run.before.identity:
        return False
    stored = {path: row for path, row in run.recorded.items() if row.stored}
    contents = {_content(row.stamp) for row in stored.values() if row.stamp is not None}
    left = any(file.relative in stored or _content(file.stamp) in contents for file in run.scan.files)
    if run.tree.only is None and stored and not left and not any(_is_below(path, run.scan.unlisted) for path in stored):
        return not run.before.empty
    run.memory.identity = run.before.identity
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
    since = memory.moving.get(file.relative)
    return since is not None and file.seen_ns - since >= LONGEST_WRITE_NS


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(is_at(path, place) for place in places)


def _content(stamp: FileStamp) -> tuple[int, int]:
    """Return the part of a stamp that a rename keeps."""
    return stamp.size, stamp.mtime_ns
