"""The ignore files of a tree. Those above the tree and git's own settings do not count."""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ragcorp.domain.exceptions import FileAccessError, InvalidInputError
from ragcorp.infrastructure.files.globs import (
    MAX_TREE_RULES,
    Glob,
    IgnoreList,
    escaped,
    is_light,
    plain_braces,
    read_rules,
)
from ragcorp.infrastructure.files.root_folder import RootFolder

MAX_RIPGREP_RULES = 2_000
"""ripgrep reads this many in a quarter of a second. They only save time: ``IgnoreRules`` decides about each file."""

RULE_FILES = (".rgignore", ".ignore", ".gitignore")

Check = Callable[[], None]


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


def ignore_rules_below(folder: RootFolder) -> IgnoreRules:
    return IgnoreRules(partial(_lines, folder), names=RULE_FILES)


def ripgrep_rules(rules: IgnoreRules, *, base: Path, excluded: tuple[str, ...], check: Check) -> list[str]:
    """Return the rules of a tree relative to its root, the strongest last.

    A tree with too many rules for ripgrep yields rules that exclude less. ``check`` is called often and may raise.
    """
    _read_tree(rules, base=base, excluded=frozenset(excluded), check=check)
    ordered = sorted(rules.files, key=lambda file: (-file.kind, file.folder.count("/") + bool(file.folder)))
    lines: list[str] = []
    for file in ordered:
        check()
        few = len(lines) + len(file.lines) <= MAX_RIPGREP_RULES
        lines += _from_root(file, few=few)
    return lines if len(lines) <= 2 * MAX_RIPGREP_RULES else []


def _read_tree(rules: IgnoreRules, *, base: Path, excluded: frozenset[str], check: Check) -> None:
    """Read the ignore files of all folders that are neither hidden, excluded, ignored nor links."""
    waiting = [""]
    while waiting:
        check()
        parent = waiting.pop()
        try:
            with os.scandir(base / parent) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        rules.list_folder(parent, {entry.name for entry in listed})
        for entry in listed:
            if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                continue
            relative = joined(parent, entry.name)
            if relative not in excluded and not rules.excludes(relative, folder=True):
                waiting.append(relative)


def _lines(folder: RootFolder, relative: str) -> list[str]:
    try:
        with folder.open(relative) as opened:
            return read_rules(opened.descriptor)
    except (FileAccessError, InvalidInputError, OSError):
        return []


def _from_root(file: IgnoreFile, *, few: bool) -> Iterator[str]:
    """Yield the rules of a file relative to the root.

    Rules that are too many or too slow for ripgrep are omitted; for an omitted negation, everything below is included.
    """
    above = f"/{escaped(file.folder)}" if file.folder else ""
    whole = False
    for line in file.lines:
        try:
            negated = Glob(line).negated
        except ValueError:
            continue
        pattern = plain_braces(line.removeprefix("!") if negated else line)
        if few and is_light(pattern):
            whole = False
            yield f"{'!' if negated else ''}{_below(above, pattern)}"
        elif negated and not whole:
            whole = True
            yield f"!{above}/**"


def _below(above: str, pattern: str) -> str:
    if not above:
        return pattern
    anchored = "/" in pattern.rstrip().rstrip("/")
    between = "" if pattern.startswith("/") else "/" if anchored else "/**/"
    return f"{above}{between}{pattern}"
