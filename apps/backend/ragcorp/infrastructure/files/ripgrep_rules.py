"""The ignore files below a root, as one ignore file for ripgrep.

Only ``RootFolder`` opens them: ripgrep would follow links to them and read pipes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ragcorp.domain.exceptions import FileAccessError, InvalidInputError
from ragcorp.infrastructure.files.globs import Glob, escaped, is_light, plain_braces, read_rules
from ragcorp.infrastructure.files.ignore_rules import IgnoreFile, IgnoreRules, joined
from ragcorp.infrastructure.files.root_folder import RootFolder

MAX_RIPGREP_RULES = 2_000
"""ripgrep reads so many in a quarter of a second. They only save time: ``IgnoreRules`` decides about each file."""

RULE_FILES = (".rgignore", ".ignore", ".gitignore")

Check = Callable[[], None]


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
