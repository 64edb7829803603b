"""Ports for folders whose files are stored as documents, and kept in step with them."""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from ragcorp.domain.documents import DocumentAttributes, SourceFile, UnreadPart
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.principal import Principal


def is_at(path: str, folder: str) -> bool:
    """Return whether a path of a tree is ``folder`` or below it; '' is the root."""
    return not folder or path == folder or path.startswith(f"{folder}/")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file to ingest: its path, and its name relative to the folder, with '/' between parts."""

    path: Path
    relative: str


class FileStamp(NamedTuple):
    """Detects a change of a file without reading it: size, and the times of its content and of its inode."""

    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedFile:
    """A file of a tree as a scan saw it, at ``seen_ns`` on the clock of the wall."""

    entry: FileEntry
    stamp: FileStamp
    seen_ns: int

    @property
    def relative(self) -> str:
        return self.entry.relative


class LeftOutReason(StrEnum):
    """Why a file of a tree is not ingested. ``special``: neither a file nor a folder."""

    KIND = "kind"
    LOCK_FILE = "lock_file"
    SYSTEM_FILE = "system_file"
    HIDDEN = "hidden"
    EMPTY = "empty"
    LINK = "link"
    SPECIAL = "special"


class LeftOutFile(NamedTuple):
    """A file that is not ingested, or with a '/' at its end a folder that is not looked into."""

    relative: str
    reason: LeftOutReason


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderScan:
    """Files in the order of their names, and the paths below which no look was possible ('' is the whole tree).

    ``left_out``: other files, of which ``without_ignored`` removes the ignored ones. ``ignored`` counts the files that
    could be ingested otherwise, and folders.
    """

    files: tuple[ScannedFile, ...]
    unlisted: tuple[str, ...] = ()
    left_out: tuple[LeftOutFile, ...] = ()
    ignored: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedTree:
    """A folder by its real path, or one file of it (``only``). ``key`` identifies it in storage."""

    root: Path
    key: bytes
    only: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeState:
    """``identity`` (device and inode) is None where the root cannot be listed; ``empty``: like an unmounted disk."""

    identity: tuple[int, int] | None
    empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedFile:
    """A file's content and its stamp before the reading. ``moving``: the stamp was another after it."""

    file: SourceFile
    stamp: FileStamp
    moving: bool


class FolderFiles(Protocol):
    """Looks at trees of files. Blocking: callers run it in a worker thread."""

    def find(self, root: Path, *, gitignore: bool = True) -> list[FileEntry]:
        """Return the files below ``root`` that can be ingested, in a fixed order. Raises MissingFileError."""

    def read(self, entry: FileEntry) -> SourceFile:
        """Raises PayloadTooLargeError, NotFoundError or UnreadableDocumentError."""

    def locate(self, path: Path) -> WatchedTree:
        """Raises MissingFileError."""

    def state(self, tree: WatchedTree) -> TreeState: ...

    def scan(self, tree: WatchedTree, *, below: Collection[str] | None = None, gitignore: bool = True) -> FolderScan:
        """Return the files of the tree, or those at and below some of its paths. A missing path is no error.

        Empty files are among the files.
        """

    def read_stamped(self, entry: FileEntry) -> StampedFile:
        """Raises the errors of ``read``."""

    def without_ignored(self, tree: WatchedTree, left_out: Iterable[LeftOutFile]) -> list[LeftOutFile]:
        """Return the files of a scan that no ``.gitignore`` excludes. It costs more than to find them."""

    def still_gone(self, tree: WatchedTree, paths: Sequence[str], *, gitignore: bool = True) -> list[str]:
        """Return the paths at which there is no file to ingest at this moment."""


class RecordedFile(NamedTuple):
    """The record of a file of a tree.

    ``stamp`` is None while it is being stored; ``settled``: the stamp was old enough to be trusted when it was taken.
    ``described`` is the digest of everything that makes the document, except the content. ``stored``: its document
    exists; ``owned``: unchanged since it was stored from here; ``replaced``: another caller replaced it.
    """

    relative: str
    external_id: str
    stamp: FileStamp | None
    settled: bool
    described: bytes
    stored: bool
    owned: bool
    replaced: bool


class FileClaim(NamedTuple):
    """A document that is about to be stored from a tree, by its content hash."""

    relative: str
    external_id: str
    content_hash: bytes


class FileRecord(NamedTuple):
    """A document that was stored, or was already stored with this content."""

    external_id: str
    content_hash: bytes
    stamp: FileStamp
    settled: bool
    described: bytes


class FolderRecords(Protocol):
    """Which documents were stored from which tree. Outages are a StorageUnavailableError."""

    async def recorded(
        self, folder: bytes, *, prefix: str, principal: Principal, below: Collection[str] | None = None
    ) -> list[RecordedFile]:
        """Return the records of a tree, or of some of its paths and everything below them."""

    async def count(self, folder: bytes, *, prefix: str, principal: Principal) -> int: ...

    async def claim(self, folder: bytes, claims: Sequence[FileClaim], *, principal: Principal) -> frozenset[str]:
        """Announce documents before they are stored, so that they count as the tree's even if the process dies right
        after.

        A document that another caller stored with the same content is not claimed. Returns the external_ids of
        documents that were stored from another tree.
        """

    async def confirm(self, folder: bytes, records: Sequence[FileRecord], *, principal: Principal) -> None: ...

    async def forget(self, folder: bytes, external_ids: Sequence[str], *, principal: Principal) -> frozenset[str]:
        """Soft-delete the documents that only this tree wrote, with their records, in one transaction; return them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChanges:
    """Paths below a tree at which something may have changed; ``everything``: anywhere."""

    paths: frozenset[str] = frozenset()
    everything: bool = False


class FolderWatching(Protocol):
    """Reports changes in a tree."""

    def changes(self, tree: WatchedTree) -> AsyncGenerator[TreeChanges]:
        """Yield changes after a quiet moment, and an empty value every other moment.

        The first one means that the watch is active. It ends when the tree is gone or can no longer be watched. Raises
        SourceUnavailableError when the system does not watch so many folders.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderOptions:
    """Documents of a tree: the prefix of external_ids, code as a kind (``by_kind``), and large deletions."""

    attributes: DocumentAttributes
    prefix: str = ""
    by_kind: bool = False
    gitignore: bool = True
    allow_deletions: bool = False


class WatchKind(StrEnum):
    """The kinds of events of a watch.

    ``kept``: a document that another caller stored or changed stays, although its file is gone or differs. ``updated``
    with an error: a file replaced such a document. ``held_back``: so many files are gone that their documents stay.
    ``waiting``: the folder or the database is unavailable. ``left_out``: files that are not ingested, each reported
    once. ``in_step``: a comparison of the whole tree, or a large burst of changes, is done.
    """

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    FAILED = "failed"
    KEPT = "kept"
    HELD_BACK = "held_back"
    WAITING = "waiting"
    LEFT_OUT = "left_out"
    IN_STEP = "in_step"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncCounts:
    """Counts of a pass. ``files`` is the number of files that it looked at."""

    files: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    """An event of a document or of the tree.

    ``error`` gives the reason and the remedy; ``unread`` what was not read of the file; ``ignored`` how many paths
    of the whole tree its ``.gitignore`` files exclude.
    """

    kind: WatchKind
    external_id: str | None = None
    error: RagcorpError | None = None
    counts: SyncCounts | None = None
    unread: tuple[UnreadPart, ...] = ()
    left_out: tuple[LeftOutFile, ...] = ()
    ignored: int = 0


OnEvent = Callable[[WatchEvent], None]
OnProgress = Callable[[int, int], None]
"""Receives the number of files that are done, and of all."""


@dataclass(slots=True, kw_only=True)
class WatchMemory:
    """State of a watch between passes, in addition to the records.

    ``failed``: files that could not be stored in their present state, by path; ``moving``: since when (wall clock, ns)
    a file is being written; ``held_back``, ``unlisted``, ``replaced`` and ``left_out``: already reported. ``identity``
    is that of the root of the last comparison.
    """

    failed: dict[str, tuple[FileStamp, bool]] = field(default_factory=dict)
    moving: dict[str, int] = field(default_factory=dict)
    held_back: int = 0
    unlisted: frozenset[str] = frozenset()
    replaced: set[str] = field(default_factory=set)
    left_out: set[LeftOutFile] = field(default_factory=set)
    identity: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderTask:
    """A tree to keep in step: how, for whom, and what is remembered between passes."""

    tree: WatchedTree
    principal: Principal
    options: FolderOptions
    on_event: OnEvent
    on_progress: OnProgress | None = None
    memory: WatchMemory = field(default_factory=WatchMemory)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOutcome:
    """``again``: paths to check again soon. ``waiting``: the reason why nothing could be compared."""

    counts: SyncCounts = SyncCounts()
    again: frozenset[str] = frozenset()
    waiting: RagcorpError | None = None
