"""Finds the root of a path, enters it without following links, and opens the file."""

import errno
import os
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ragcorp.domain.exceptions import FileAccessDeniedError, FileNotFoundInRootsError
from ragcorp.domain.files.values import denied
from ragcorp.infrastructure.files.root_folder import (
    FOLDER,
    NO_FILE,
    SYSTEM_SAYS_NO,
    Identity,
    OpenedFile,
    RootFolder,
    components_of,
    identity,
    not_found,
    spellings,
)
from ragcorp.infrastructure.files.roots import Root

_SYSTEM = (Path("/proc"), Path("/sys"))
"""Never entered: plain files there describe this process, its environment among them."""


class Roots:
    """The roots in their order. ``excluded`` folders are never entered, wherever they are.

    ``hard_links``: also read a file with several names, one of which may be outside the roots.
    """

    def __init__(self, roots: Sequence[Root], *, excluded: Sequence[Path] = (), hard_links: bool = False) -> None:
        self.entries = tuple(roots)
        self.names = tuple(root.name for root in roots)
        self._by_name = {root.name: root for root in roots}
        self._excluded = (*(folder.absolute() for folder in excluded), *_SYSTEM)
        self._hard_links = hard_links
        self._devices = {root.name: _device(root.path) for root in roots}

    def open(self, path: str) -> OpenedFile:
        """Open ``name/relative``, or the bare ``relative`` in the first root that has such a path.

        Raises a FileAccessError, and InvalidInputError for an invalid path.
        """
        return self._first(components_of(path, names=self.names))

    def open_exact(self, path: str) -> OpenedFile:
        """Open ``name/relative`` in the root of that name only. Raises the errors of ``open``."""
        name, *components = components_of(path, names=self.names) or [""]
        root = self._by_name.get(unicodedata.normalize("NFC", name))
        if root is None:
            raise not_found(self.names)
        return self._opened(root, components)

    @contextmanager
    def entered(self, name: str) -> Iterator[RootFolder]:
        """Keep a root's folder open.

        Raises FileNotFoundInRootsError where it is missing or a link is in the way, and FileAccessDeniedError where it
        is in an excluded folder.
        """
        root = self._by_name[name]
        closed = self._closed()
        descriptor = self._reach(root, closed)
        try:
            yield RootFolder(
                root=root, descriptor=descriptor, closed=closed, hard_links=self._hard_links, names=self.names
            )
        finally:
            os.close(descriptor)

    @contextmanager
    def searched(self, name: str) -> Iterator[RootFolder]:
        """Keep a root's folder open for a search. Raises a FileAccessError if it is missing or cannot be listed."""
        with self.entered(name) as folder:
            folder.require_listed(device=self._devices[name])
            yield folder

    def excluded_below(self, name: str) -> tuple[str, ...]:
        """Return the excluded folders below a root, relative to it; ``.`` if the root itself is excluded."""
        root = self._by_name[name].path
        below = set()
        for folder in self._excluded:
            path = Path(os.path.realpath(folder))
            if root.is_relative_to(path):
                return (".",)
            if path.is_relative_to(root):
                below.add(path.relative_to(root).as_posix())
        return tuple(sorted(below))

    def names_of(self, name: str, relative: str) -> tuple[str, ...]:
        """Return the paths by which a file can be read: the bare one too, unless it leads elsewhere."""
        components = relative.split("/")
        for root, rest in self._candidates(components):
            if root.name == name and rest == components:
                return (f"{name}/{relative}", relative)
            if self._has(root, rest):
                break
        return (f"{name}/{relative}",)

    def _candidates(self, components: list[str]) -> Iterator[tuple[Root, list[str]]]:
        named = self._by_name.get(unicodedata.normalize("NFC", components[0]))
        if named is not None and components[1:]:
            yield named, components[1:]
        for root in self.entries:
            yield root, components

    def _first(self, components: list[str]) -> OpenedFile:
        if not self.entries:
            raise denied(())
        if not components:
            raise denied(self.names, NO_FILE)
        for root, rest in self._candidates(components):
            try:
                return self._opened(root, rest)
            except FileNotFoundInRootsError:
                continue
        if len(components) == 1 and unicodedata.normalize("NFC", components[0]) in self._by_name:
            raise denied(self.names, NO_FILE)
        raise not_found(self.names)

    def _opened(self, root: Root, components: list[str]) -> OpenedFile:
        with self.entered(root.name) as folder:
            return folder.opened(components)

    def _has(self, root: Root, components: list[str]) -> bool:
        """Return whether a root has anything at that path, readable or not."""
        if not any(os.path.lexists(root.path / spelling) for spelling in spellings(components[0])):
            return False
        try:
            os.close(self._opened(root, components).descriptor)
        except FileNotFoundInRootsError:
            return False
        except FileAccessDeniedError:
            return True
        return True

    def _reach(self, root: Root, closed: frozenset[Identity]) -> int:
        descriptor = self._step("/", parent=None)
        for part in root.path.parts:
            try:
                child = self._step(part, parent=descriptor)
            finally:
                os.close(descriptor)
            descriptor = child
            if identity(os.fstat(descriptor)) in closed:
                os.close(descriptor)
                raise denied(self.names)
        return descriptor

    def _step(self, part: str, *, parent: int | None) -> int:
        try:
            return os.open(os.fsencode(part), FOLDER, dir_fd=parent)
        except OSError as error:
            gone = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)
            raise (not_found(self.names) if gone else denied(self.names, SYSTEM_SAYS_NO)) from None

    def _closed(self) -> frozenset[Identity]:
        """Return the identities of the excluded folders that exist now."""
        identities = set()
        for folder in self._excluded:
            try:
                identities.add(identity(folder.stat()))
            except OSError:
                continue
        return frozenset(identities)


def _device(path: Path) -> int | None:
    try:
        return path.stat().st_dev
    except OSError:
        return None
