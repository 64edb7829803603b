"""What the ``.gitignore`` files of a tree exclude. Those above the tree, and git's own settings, do not count."""

from __future__ import annotations

import re
from pathlib import Path

from pathspec import GitIgnoreSpec

MAX_BYTES = 1024 * 1024
MAX_STARS = 12
"""A line with more runs of stars is passed over: each multiplies what a name costs that just fails to match."""

_STARS = re.compile(r"\*+")


class IgnoreRules:
    """Asked from the root downwards: that a folder above is excluded is for the caller to know."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._specs: dict[str, GitIgnoreSpec | None] = {}

    def excludes(self, relative: str, *, folder: bool) -> bool:
        """The rules of the nearest folder that say something of a path decide."""
        name, parent = relative + ("/" if folder else ""), relative
        while parent:
            parent = parent.rpartition("/")[0]
            spec = self._spec(parent)
            if spec is not None:
                said = spec.check_file(name[len(parent) + 1 :] if parent else name).include
                if said is not None:
                    return said
        return False

    def _spec(self, folder: str) -> GitIgnoreSpec | None:
        if folder not in self._specs:
            self._specs[folder] = _read(self._root / folder / ".gitignore")
        return self._specs[folder]


def _read(path: Path) -> GitIgnoreSpec | None:
    try:
        if path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as file:
            lines = file.read(MAX_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    return GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)])


def _is_pattern(line: str) -> bool:
    if len(_STARS.findall(line)) > MAX_STARS:
        return False
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
