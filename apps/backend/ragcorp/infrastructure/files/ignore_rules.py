"""What the ``.gitignore`` files of a tree exclude. Those above the tree, and git's own settings, do not count."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ragcorp.infrastructure.files.globs import MAX_TREE_RULES, IgnoreList, read_rules


class IgnoreRules:
    """Asked from the root downwards: that a folder above is excluded is for the caller to know."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._specs: dict[str, IgnoreList | None] = {}
        self._left = MAX_TREE_RULES

    def excludes(self, relative: str, *, folder: bool) -> bool:
        """The rules of the nearest folder that say something of a path decide."""
        parent = relative
        while parent:
            parent = parent.rpartition("/")[0]
            spec = self._spec(parent)
            if spec is not None:
                said = spec.says(relative[len(parent) + 1 :] if parent else relative, folder=folder)
                if said is not None:
                    return said
        return False

    def _spec(self, folder: str) -> IgnoreList | None:
        if folder not in self._specs:
            lines = _lines(self._root / folder / ".gitignore")
            fits = 0 < len(lines) <= self._left
            self._left -= len(lines) if fits else 0
            self._specs[folder] = IgnoreList(lines) if fits else None
        return self._specs[folder]


def _lines(path: Path) -> list[str]:
    """Read a regular file and nothing else: a link may lead anywhere, a pipe has no end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return read_rules(descriptor) if regular else []
    except OSError:
        return []
    finally:
        os.close(descriptor)
