"""The port FolderFiles over the file system."""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import MissingFileError, NotFoundError, PayloadTooLargeError, UnreadableDocumentError
from ragcorp.domain.files.litter import is_lock_file, is_system_file
from ragcorp.domain.ports.folders import (
    FileEntry,
    FileStamp,
    FolderScan,
    LeftOutFile,
    LeftOutReason,
    ScannedFile,
    StampedFile,
    TreeState,
    WatchedTree,
    is_at,
)
from ragcorp.infrastructure.files.globs import read_rules
from ragcorp.infrastructure.files.ignore_rules import IgnoreRules, joined
from ragcorp.infrastructure.files.roots import folder_key

GONE = (FileNotFoundError, NotADirectoryError)


class LocalFiles:
    """Walks folders. Leaves out hidden files and folders, and files that a ``.gitignore`` in the folder excludes.

    Leaves out lock files of Office and files of systems, and does not follow symbolic links. ``suffixes`` are those of
    the accepted files; one without a dot is a complete file name. A file that is named itself is accepted even if it is
    hidden, ignored or of another kind.
    """

    def __init__(self, *, suffixes: frozenset[str], max_bytes: int) -> None:
        self._suffixes = suffixes
        self._max_bytes = max_bytes

    def find(self, root: Path, *, gitignore: bool = True) -> list[FileEntry]:
        return [file.entry for file in self.scan(self.locate(root), gitignore=gitignore).files]

    def read(self, entry: FileEntry) -> SourceFile:
        return self.read_stamped(entry).file

    def read_stamped(self, entry: FileEntry) -> StampedFile:
        try:
            with entry.path.open("rb") as file:
                before = _stamp(os.fstat(file.fileno()))
                content = file.read(self._max_bytes + 1)
                after = _stamp(os.fstat(file.fileno()))
        except FileNotFoundError:
            raise NotFoundError("The file is gone.", field="path") from None
        except OSError as error:
            raise UnreadableDocumentError(
                "The file cannot be read.", field="file", remedy="Check its permissions and the disk."
            ) from error
        if len(content) > self._max_bytes:
            raise PayloadTooLargeError(
                "The file is too large.",
                field="file",
                limit=f"{self._max_bytes} bytes",
                remedy="Split it, or raise MAX_FILE_BYTES.",
            )
        file_of = SourceFile(content=content, media_type="", filename=entry.path.name)
        return StampedFile(file=file_of, stamp=before, moving=before != after)

    def locate(self, path: Path) -> WatchedTree:
        only = path.name if path.is_file() else None
        if only is None and not path.is_dir():
            raise _missing()
        root = (path.parent if only else path).resolve()
        return WatchedTree(root=root, key=folder_key(root), only=only)

    def state(self, tree: WatchedTree) -> TreeState:
        try:
            status = tree.root.stat()
            with os.scandir(tree.root) as entries:
                empty = next(entries, None) is None
        except OSError:
            return TreeState(identity=None)
        return TreeState(identity=(status.st_dev, status.st_ino), empty=empty)

    def scan(self, tree: WatchedTree, *, below: Collection[str] | None = None, gitignore: bool = True) -> FolderScan:
        walk = _Walk(tree.root, why_not=self._why_not, gitignore=gitignore)
        if tree.only is not None:
            files = list(walk.named(tree.only))
        else:
            files = [file for start in _outermost([""] if below is None else below) for file in walk.files(start)]
        return FolderScan(
            files=tuple(sorted(files, key=lambda file: file.entry.relative)),
            unlisted=tuple(sorted(walk.unlisted)),
            left_out=tuple(sorted(walk.left_out)),
            ignored=walk.ignored,
        )

    def without_ignored(self, tree: WatchedTree, left_out: Iterable[LeftOutFile]) -> list[LeftOutFile]:
        walk = _Walk(tree.root, why_not=self._why_not, gitignore=True)
        return [
            file
            for file in left_out
            if not walk.excludes(file.relative.removesuffix("/"), folder=file.relative.endswith("/"))
        ]

    def still_gone(self, tree: WatchedTree, paths: Sequence[str], *, gitignore: bool = True) -> list[str]:
        scan = self.scan(tree, below=paths, gitignore=gitignore)
        there = {file.entry.relative for file in scan.files}
        return [
            path for path in paths if path not in there and not any(is_at(path, hidden) for hidden in scan.unlisted)
        ]

    def _why_not(self, name: str) -> LeftOutReason | None:
        """Return why a file of this name in a folder is left out, or None."""
        if (reason := _litter(name)) is not None:
            return reason
        if name.startswith("."):
            return LeftOutReason.HIDDEN
        lowered = name.lower()
        known = PurePosixPath(lowered).suffix in self._suffixes or lowered in self._suffixes
        return None if known else LeftOutReason.KIND


class _Walk:
    """One walk below ``root``. ``unlisted`` gathers the paths that no look was possible at."""

    def __init__(self, root: Path, *, why_not: Callable[[str], LeftOutReason | None], gitignore: bool) -> None:
        self._root = root
        self._why_not = why_not
        self._rules = IgnoreRules(self._ignore_lines) if gitignore else None
        self.unlisted: set[str] = set()
        self.left_out: list[LeftOutFile] = []
        self.ignored = 0

    def named(self, name: str) -> Iterator[ScannedFile]:
        """Yield the file of that name in the root, whatever its suffix and even if it is ignored."""
        if (reason := _litter(name)) is not None:
            self.left_out.append(LeftOutFile(name, reason))
            return
        try:
            status = os.stat(self._root / name)  # noqa: PTH116 - the house's walks speak os
        except GONE:
            return
        except OSError:
            self.unlisted.add(name)
            return
        if stat.S_ISREG(status.st_mode):
            yield self._found(name, status)

    def files(self, start: str) -> Iterator[ScannedFile]:
        """Yield the files at and below ``start``; nothing where a part of it is hidden, excluded or a link."""
        folder = ""
        for name in start.split("/") if start else ():
            path = joined(folder, name)
            try:
                status = os.lstat(self._root / path)
            except GONE:
                return
            except OSError:
                self.unlisted.add(path)
                return
            if not stat.S_ISDIR(status.st_mode):
                link, regular = stat.S_ISLNK(status.st_mode), stat.S_ISREG(status.st_mode)
                if path == start and self._takes(path, name, link=link, regular=regular):
                    yield self._found(path, status)
                return
            if not self._enters(path, name):
                return
            folder = path
        yield from self._below(folder)

    def _below(self, start: str) -> Iterator[ScannedFile]:
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(self._root / folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except GONE:
                if not folder:
                    self.unlisted.add("")
                continue
            except OSError:
                self.unlisted.add(folder)
                continue
            for entry in listed:
                path = joined(folder, entry.name)
                if not entry.is_dir(follow_symlinks=False):
                    yield from self._file(path, entry)
                elif self._enters(path, entry.name):
                    waiting.append(path)

    def _file(self, path: str, entry: os.DirEntry[str]) -> Iterator[ScannedFile]:
        regular = entry.is_file(follow_symlinks=False)
        if not self._takes(path, entry.name, link=entry.is_symlink(), regular=regular):
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except GONE:
            return
        except OSError:
            self.unlisted.add(path)
            return
        if stat.S_ISREG(status.st_mode):
            yield self._found(path, status)

    def _enters(self, path: str, name: str) -> bool:
        if name.startswith("."):
            self.left_out.append(LeftOutFile(f"{path}/", LeftOutReason.HIDDEN))
            return False
        excluded = self.excludes(path, folder=True)
        self.ignored += excluded
        return not excluded

    def _takes(self, path: str, name: str, *, link: bool, regular: bool) -> bool:
        reason = LeftOutReason.LINK if link else self._why_not(name) if regular else LeftOutReason.SPECIAL
        if reason is not None:
            self.left_out.append(LeftOutFile(path, reason))
            return False
        excluded = self.excludes(path, folder=False)
        self.ignored += excluded
        return not excluded

    def excludes(self, path: str, *, folder: bool) -> bool:
        return self._rules is not None and self._rules.excludes(path, folder=folder)

    def _ignore_lines(self, relative: str) -> list[str]:
        """Read a regular file and nothing else: a link may lead anywhere, a pipe has no end."""
        try:
            descriptor = os.open(self._root / relative, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return read_rules(descriptor) if regular else []
        except OSError:
            return []
        finally:
            os.close(descriptor)

    def _found(self, path: str, status: os.stat_result) -> ScannedFile:
        entry = FileEntry(path=self._root / path, relative=path)
        return ScannedFile(entry=entry, stamp=_stamp(status), seen_ns=time.time_ns())


def _litter(name: str) -> LeftOutReason | None:
    """Return why a lock or system file is skipped, even if it is named on the command line."""
    if is_lock_file(name):
        return LeftOutReason.LOCK_FILE
    return LeftOutReason.SYSTEM_FILE if is_system_file(name) else None


def _stamp(status: os.stat_result) -> FileStamp:
    return FileStamp(size=status.st_size, mtime_ns=status.st_mtime_ns, ctime_ns=status.st_ctime_ns)


def _outermost(paths: Collection[str]) -> list[str]:
    """Return the paths that are not below another of them."""
    kept: list[str] = []
    for path in sorted(paths, key=lambda path: path.split("/")):
        if not kept or not is_at(path, kept[-1]):
            kept.append(path)
    return kept


def _missing() -> MissingFileError:
    return MissingFileError("There is no such file or folder.", field="path", remedy="Check the path.")
