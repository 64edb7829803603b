"""The ignore files of a tree. Those above the tree and git's own settings do not count."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ragcorp.infrastructure.files.globs import MAX_TREE_RULES, IgnoreList


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreFile:
    """The rules of one ignore file in ``folder``. ``kind`` is its place in the order of precedence."""

    kind: int
    folder: str
    lines: list[str]
    rules: IgnoreList


class IgnoreRules:
    """Decides which paths the ignore files of a tree exclude, and reads each of them once.

    ``read`` returns the lines of an ignore file by its relative path, none if it does not exist. A rule in a file of an
    earlier name in ``names`` decides; among files of one name, that of the nearest folder.
    """

    def __init__(self, read: Callable[[str], list[str]], *, names: tuple[str, ...] = (".gitignore",)) -> None:
        self._read = read
        self._names = names
        self._left = MAX_TREE_RULES
        self._files: dict[str, IgnoreFile | None] = {}
        self._left_out: dict[str, bool] = {"": False}

    @property
    def files(self) -> list[IgnoreFile]:
        """The ignore files that have been read, in that order."""
        return [file for file in self._files.values() if file is not None]

    def list_folder(self, folder: str, names: Collection[str]) -> None:
        """Read the ignore files among the ``names`` of a folder."""
        for kind, name in enumerate(self._names):
            if name in names:
                self._file(folder, kind)
            else:
                self._files.setdefault(joined(folder, name), None)

    def excludes(self, relative: str, *, folder: bool) -> bool:
        """Return whether a rule excludes the path itself. Rules that exclude a folder above it are not considered."""
        for kind in range(len(self._names)):
            parent = relative
            while parent:
                parent = parent.rpartition("/")[0]
                file = self._file(parent, kind)
                if file is None:
                    continue
                verdict = file.rules.says(relative[len(parent) + 1 :] if parent else relative, folder=folder)
                if verdict is not None:
                    return verdict
        return False

    def leaves_out(self, relative: str) -> bool:
        """Return whether a rule excludes a file or a folder above it."""
        return self._leaves_out_folder(relative.rpartition("/")[0]) or self.excludes(relative, folder=False)

    def _leaves_out_folder(self, relative: str) -> bool:
        if relative not in self._left_out:
            above = self._leaves_out_folder(relative.rpartition("/")[0])
            self._left_out[relative] = above or self.excludes(relative, folder=True)
        return self._left_out[relative]

    def _file(self, folder: str, kind: int) -> IgnoreFile | None:
        path = joined(folder, self._names[kind])
        if path not in self._files:
            lines = self._read(path)
            fits = 0 < len(lines) <= self._left
            self._left -= len(lines) if fits else 0
            self._files[path] = (
                IgnoreFile(kind=kind, folder=folder, lines=lines, rules=IgnoreList(lines)) if fits else None
            )
        return self._files[path]


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
