"""Opens regular files below one root, and nothing else.

Every folder from ``/`` on is opened by name inside the previous one, without following links, and the descriptor that
is read is checked: changing the path meanwhile has no effect.
"""

import errno
import os
import stat
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from ragcorp.domain.exceptions import FileAccessError, FileNotFoundInRootsError, InvalidInputError
from ragcorp.domain.files.values import MAX_PATH, OUTSIDE, denied
from ragcorp.domain.text.checks import require_length, require_utf8
from ragcorp.infrastructure.files.roots import Root

FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY

_ATTEMPTS = 5
"""For a file that is replaced between the look at it and its opening, as editors do."""

_LINK = "Symbolic links are not followed."
NO_FILE = "It is a folder or a special file, not a plain file."
_HARD_LINK = "The file has further hard links, which FILES_HARD_LINKS does not allow."
_REPLACED = "The file is being replaced."
SYSTEM_SAYS_NO = "The system does not let the service read it."

Identity = tuple[int, int]
Opened = TypeVar("Opened")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """A regular file that is open for reading. ``relative`` is spelled as the folders spell it."""

    root: str
    relative: str
    descriptor: int
    size: int

    @property
    def path(self) -> str:
        return f"{self.root}/{self.relative}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


class RootFolder:
    """A root while its folder is open. ``closed`` are folders that are never entered."""

    def __init__(
        self, *, root: Root, descriptor: int, closed: frozenset[Identity], hard_links: bool, names: tuple[str, ...]
    ) -> None:
        self._root = root
        self.descriptor = descriptor
        self._closed = closed
        self._hard_links = hard_links
        self._names = names

    def require_listed(self, *, device: int | None) -> None:
        """Raise a FileAccessError where it cannot be listed, or nothing is mounted there any more.

        ``device`` is the one that it was on at the start.
        """
        try:
            listed = _listed(self.descriptor)
        except OSError:
            raise denied(self._names, SYSTEM_SAYS_NO) from None
        if not listed and device is not None and os.fstat(self.descriptor).st_dev != device:
            raise not_found(self._names)

    def open(self, relative: str) -> OpenedFile:
        """Return a file that the caller has to close; one whose path with its root exceeds MAX_PATH does not exist.

        Raises a FileAccessError, and InvalidInputError for an invalid path.
        """
        components = components_of(relative, names=self._names)
        if len(self._root.name) + 1 + len(relative) > MAX_PATH:
            raise not_found(self._names)
        return self.opened(components)

    def opened(self, components: Sequence[str]) -> OpenedFile:
        """Return a file that the caller has to close."""
        if not components:
            raise denied(self._names, NO_FILE)
        parent, spelled = self.descriptor, []
        try:
            for component in components[:-1]:
                spelling, child = self._spelled(parent, component, self._folder)
                if parent != self.descriptor:
                    os.close(parent)
                parent = child
                spelled.append(spelling)
            spelling, (descriptor, size) = self._spelled(parent, components[-1], self._plain_file)
        finally:
            if parent != self.descriptor:
                os.close(parent)
        return OpenedFile(
            root=self._root.name, relative="/".join((*spelled, spelling)), descriptor=descriptor, size=size
        )

    def _spelled(self, parent: int, component: str, open_in: Callable[[int, str], Opened]) -> tuple[str, Opened]:
        """Open a name in ``parent`` and return its spelling there with the result."""
        for spelling in spellings(component):
            try:
                return spelling, open_in(parent, spelling)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._refused(error, parent, spelling) from None
        raise not_found(self._names)

    def _folder(self, parent: int, name: str) -> int:
        descriptor = os.open(name.encode(), FOLDER, dir_fd=parent)
        try:
            info = os.fstat(descriptor)
            self._require_open(info)
            _require_exact(parent, name, info)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _plain_file(self, parent: int, name: str) -> tuple[int, int]:
        """Return the descriptor and size of a file that was seen to be plain before it was opened, and after."""
        for _ in range(_ATTEMPTS):
            seen = os.stat(name.encode(), dir_fd=parent, follow_symlinks=False)
            _require_exact(parent, name, seen)
            self._require_plain(seen)
            descriptor = os.open(name.encode(), _FILE, dir_fd=parent)
            try:
                info = os.fstat(descriptor)
                self._require_plain(info)
            except BaseException:
                os.close(descriptor)
                raise
            if identity(info) == identity(seen):
                return descriptor, info.st_size
            os.close(descriptor)
        raise denied(self._names, _REPLACED)

    def _require_open(self, info: os.stat_result) -> None:
        if identity(info) in self._closed:
            raise denied(self._names)

    def _require_plain(self, info: os.stat_result) -> None:
        if stat.S_ISLNK(info.st_mode):
            raise denied(self._names, _LINK)
        if not stat.S_ISREG(info.st_mode):
            raise denied(self._names, NO_FILE)
        if info.st_nlink > 1 and not self._hard_links:
            raise denied(self._names, _HARD_LINK)

    def _refused(self, error: OSError, parent: int, spelling: str) -> FileAccessError:
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(parent, spelling):
            return denied(self._names, _LINK)
        if error.errno in (errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ):
            return not_found(self._names)
        return denied(self._names, SYSTEM_SAYS_NO)


def components_of(path: str, *, names: Sequence[str]) -> list[str]:
    """Return the names in a path, without ``.`` and empty ones.

    Raises InvalidInputError for an empty path, one over MAX_PATH and one that is not valid Unicode, and
    FileAccessDeniedError for one that is absolute, contains NUL or goes up.
    """
    if not path:
        raise InvalidInputError("path is empty.", field="path", remedy="Name a file: root/relative, or relative.")
    require_length(path, field="path", limit=MAX_PATH)
    require_utf8(path, field="path")
    components = path.split("/")
    if path.startswith("/") or "\0" in path or ".." in components:
        raise denied(names, OUTSIDE)
    return [component for component in components if component not in {"", "."}]


def spellings(component: str) -> dict[str, None]:
    """Return a name as given, composed and decomposed: file systems differ in the form that they store."""
    return dict.fromkeys((component, *(unicodedata.normalize(form, component) for form in ("NFC", "NFD"))))


def _require_exact(parent: int, name: str, info: os.stat_result) -> None:
    """Raise FileNotFoundError for a name in other letters than its folder's, on a file system that ignores case.

    A file has one spelling everywhere: stored data is looked up by its path.
    """
    other = name.swapcase()
    try:
        alias = os.stat(other.encode(), dir_fd=parent, follow_symlinks=False)
    except OSError:
        return
    if other != name and identity(alias) == identity(info) and name not in _listed(parent):
        raise FileNotFoundError


def _listed(folder: int) -> list[str]:
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.listdir(descriptor)  # noqa: PTH208
    finally:
        os.close(descriptor)


def _is_link(parent: int, spelling: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(spelling.encode(), dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def identity(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino


def not_found(roots: Sequence[str]) -> FileNotFoundInRootsError:
    return FileNotFoundInRootsError(
        f"There is no such file below the allowed roots: {', '.join(roots)}.",
        remedy="Give its path as root/relative, as a search does.",
    )
