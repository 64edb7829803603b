"""Walks a root, and reads the ignore files in it by the opening that reads everything: no links, no pipes, no end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

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
"""ripgrep takes a quarter of a second to read so many. It only spares time by them: see ``leaves_out``."""

RULE_FILES = (".rgignore", ".ignore", ".gitignore")
"""Those of the first kind that say something of a path decide; of one kind, those of the nearest folder."""

Check = Callable[[], None]


class TreeWalk:
    """The files below a root: not hidden, not excluded, and no links. ``check`` is called often; it may raise."""

    def __init__(self, folder: RootFolder, *, base: Path, excluded: tuple[str, ...], ignoring: bool) -> None:
        self._folder = folder
        self._base = base
        self._excluded = frozenset(excluded)
        self._ignoring = ignoring
        self._left = MAX_TREE_RULES
        self._rules_of: dict[str, tuple[_Rules, ...]] = {}
        self._listed: set[str] = set()
        self._left_out: dict[str, bool] = {"": False}

    def files(self, check: Check) -> Iterator[str]:
        """Yield their relative paths."""
        for parent, entries, rules in self._folders(check):
            for entry in entries:
                check()
                relative = f"{parent}/{entry.name}" if parent else entry.name
                hidden = entry.name.startswith(".")
                if not hidden and entry.is_file(follow_symlinks=False) and not _ignored(relative, rules, folder=False):
                    yield relative

    def ripgrep_rules(self, check: Check) -> list[str]:
        """Return what the ignore files of the tree say, the strongest last, as one ignore file at the root says it.

        Where that is too much for ripgrep they exclude less than they should.
        """
        for _ in self._folders(check):
            pass
        found = [each for rules in self._rules_of.values() for each in rules]
        ordered = sorted(found, key=lambda each: (-each.kind, each.folder.count("/") + bool(each.folder)))
        told: list[str] = []
        for each in ordered:
            check()
            few = len(told) + len(each.lines) <= MAX_RIPGREP_RULES
            told += _from_root(each, few=few)
        return told if len(told) <= 2 * MAX_RIPGREP_RULES else []

    def leaves_out(self, relative: str) -> bool:
        """Say whether a rule excludes a file, or a folder above it. What no walk has come to is read now."""
        parent = relative.rpartition("/")[0]
        return self._leaves_out_folder(parent) or _ignored(relative, self._rules_above(parent), folder=False)

    def _leaves_out_folder(self, relative: str) -> bool:
        if relative not in self._left_out:
            parent = relative.rpartition("/")[0]
            self._left_out[relative] = self._leaves_out_folder(parent) or _ignored(
                relative, self._rules_above(parent), folder=True
            )
        return self._left_out[relative]

    def _rules_above(self, folder: str) -> tuple[_Rules, ...]:
        names = folder.split("/") if folder else []
        above = ["", *("/".join(names[:length]) for length in range(1, len(names) + 1))]
        for each in above:
            if each not in self._listed:
                self._listed.add(each)
                self._rules_of[each] = tuple(self._rules(each, set(RULE_FILES)))
        return tuple(rule for each in above for rule in self._rules_of.get(each, ()))

    def _folders(self, check: Check) -> Iterator[tuple[str, list[os.DirEntry[str]], tuple[_Rules, ...]]]:
        waiting: list[tuple[str, tuple[_Rules, ...]]] = [("", ())]
        while waiting:
            check()
            parent, rules = waiting.pop()
            try:
                with os.scandir(self._base / parent) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except OSError:
                continue
            self._listed.add(parent)
            if self._ignoring and (own := tuple(self._rules(parent, {entry.name for entry in entries}))):
                self._rules_of[parent] = own
                rules = (*rules, *own)
            for entry in entries:
                if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                    continue
                relative = f"{parent}/{entry.name}" if parent else entry.name
                if relative not in self._excluded and not _ignored(relative, rules, folder=True):
                    waiting.append((relative, rules))
            yield parent, entries, rules

    def _rules(self, parent: str, names: set[str]) -> Iterator[_Rules]:
        for kind, name in enumerate(RULE_FILES):
            if name in names:
                lines = self._lines(f"{parent}/{name}" if parent else name)
                if len(lines) <= self._left:
                    self._left -= len(lines)
                    yield _Rules(kind, parent, lines, IgnoreList(lines))

    def _lines(self, relative: str) -> list[str]:
        try:
            with self._folder.open(relative) as opened:
                return read_rules(opened.descriptor)
        except (FileAccessError, InvalidInputError, OSError):
            return []


class _Rules(NamedTuple):
    kind: int
    folder: str
    lines: list[str]
    list: IgnoreList


def _ignored(relative: str, rules: tuple[_Rules, ...], *, folder: bool) -> bool:
    for each in sorted(rules, key=lambda each: (each.kind, -len(each.folder))):
        below = relative[len(each.folder) + 1 :] if each.folder else relative
        said = each.list.says(below, folder=folder)
        if said is not None:
            return said
    return False


def _from_root(rules: _Rules, *, few: bool) -> Iterator[str]:
    """Yield the rules of a folder as the root's. What is not told would exclude; what it would bring back, is."""
    above = f"/{escaped(rules.folder)}" if rules.folder else ""
    whole = False
    for line in rules.lines:
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
