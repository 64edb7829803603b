"""Literal search in Python, for an environment without ripgrep. The same passages, at a tenth of the speed or less."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import NamedTuple

import anyio.to_thread
from pathspec import GitIgnoreSpec

from ragcorp.domain.exceptions import (
    FileAccessError,
    FileIsBinaryError,
    FileNotFoundInRootsError,
    FileTooLargeError,
    InvalidInputError,
)
from ragcorp.domain.files import FileMatches, GrepMode, LineSearch, Mark, MatchedFile
from ragcorp.infrastructure.files.findings import Findings, folder_path, is_tellable
from ragcorp.infrastructure.files.opening import Roots
from ragcorp.infrastructure.files.patterns import Selection, Terms, without_line_end
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.root_folder import RootFolder

_BLOCK = 32 * 1024
"""Characters that are looked through at once. Other threads wait meanwhile."""
_MAX_LINE = 1024 * 1024
_MAX_RULES_BYTES = 1024 * 1024
_RULE_FILES = (".rgignore", ".ignore", ".gitignore")
"""Those of the first kind that say something of a path decide; of one kind, those of the nearest folder."""
_STARS = re.compile(r"\*+")
_MAX_STARS = 12
"""A rule with more runs of them is passed over: each multiplies what a name costs that just fails to match."""


class PythonSearch:
    """Searches ``searches`` at a time, each in a thread; a search waits its turn within its deadline.

    Unlike ripgrep it also reads UTF-16 without a mark, and counts a file that it may not open wherever it is met.
    """

    def __init__(self, *, roots: Roots, reader: FileReader, searches: int = 2) -> None:
        self._roots = roots
        self._reader = reader
        self._slots = asyncio.Semaphore(searches)

    async def search(self, search: LineSearch, *, seconds: float) -> FileMatches:
        """See the port FileRepository. Raises InvalidInputError for a regular expression too."""
        if search.mode is GrepMode.REGEX:
            raise InvalidInputError(
                "mode regex needs ripgrep, which is not installed.",
                field="mode",
                remedy="Look for literal text, or install it with: pip install 'ragcorp[files]'.",
            )
        deadline = time.monotonic() + seconds
        findings = Findings(max_lines=search.max_lines)
        cancelled = Event()
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
        except TimeoutError:
            findings.timed_out = True
            return findings.matches(self._roots.names)
        try:
            work = _Search(search, self._roots, self._reader, findings, cancelled, deadline)
            await anyio.to_thread.run_sync(work.run, abandon_on_cancel=True)
        finally:
            cancelled.set()
            self._slots.release()
        return findings.matches(self._roots.names)


class _OverError(Exception):
    """The time is over, or enough was found."""


class _Search:
    def __init__(
        self,
        search: LineSearch,
        roots: Roots,
        reader: FileReader,
        findings: Findings,
        cancelled: Event,
        deadline: float,
    ) -> None:
        self._search = search
        self._selection = Selection(search.globs)
        self._roots = roots
        self._path_of = {root.name: root.path for root in roots.entries}
        self._reader = reader
        self._findings = findings
        self._cancelled = cancelled
        self._deadline = deadline

    def run(self) -> None:
        terms = Terms(self._search)
        try:
            for name in self._roots.names:
                self._search_root(name, terms)
        except _OverError:
            return

    def _search_root(self, name: str, terms: Terms) -> None:
        excluded = self._roots.excluded_below(name)
        if excluded == (".",):
            return
        try:
            with self._roots.entered(name) as folder:
                walk = _Walk(
                    folder,
                    base=folder_path(folder, self._path_of[name]),
                    excluded=excluded,
                    ignoring=self._search.gitignore,
                )
                for relative in walk.files(self._check):
                    if relative in self._selection:
                        self._search_file(name, folder, relative, terms)
        except FileNotFoundInRootsError:
            return

    def _search_file(self, root: str, folder: RootFolder, relative: str, terms: Terms) -> None:
        path = f"{root}/{relative}"
        try:
            with folder.open(relative) as opened:
                text, _ = self._reader.load(opened)
        except FileNotFoundInRootsError:
            return
        except FileTooLargeError:
            self._findings.too_large.add(path)
            return
        except FileIsBinaryError:
            self._findings.binary.add(path)
            return
        except (FileAccessError, InvalidInputError):
            self._findings.refused.add(path)
            return
        marks = self._marks(text, terms)
        if marks and not is_tellable(path):
            self._findings.refused.add(path)
            return
        self._findings.searched += 1
        if marks:
            names = self._roots.names_of(root, relative)
            self._findings.add(MatchedFile(path=path, names=names, marks=tuple(marks)))

    def _marks(self, text: str, terms: Terms) -> list[Mark]:
        marks: list[Mark] = []
        number, lines = 0, 0
        for block in _blocks(text):
            self._check()
            if not terms.stand_in(block):
                number += block.count("\n")
                continue
            for line in block.removesuffix("\n").split("\n"):
                number += 1
                found = terms.marks(without_line_end(line), number) if len(line) <= _MAX_LINE else []
                lines += bool(found)
                marks += found
                if lines >= self._search.max_lines:
                    return marks
        return marks

    def _check(self) -> None:
        if self._cancelled.is_set() or self._findings.cut:
            raise _OverError
        if time.monotonic() >= self._deadline:
            self._findings.timed_out = True
            raise _OverError


def _blocks(text: str) -> Iterator[str]:
    """Cut a text behind ends of lines."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK) + 1 or len(text)
        yield text[start:end]
        start = end


class _Walk:
    """The files below a root: not hidden, not excluded, and no links."""

    def __init__(self, folder: RootFolder, *, base: Path, excluded: tuple[str, ...], ignoring: bool) -> None:
        self._folder = folder
        self._base = base
        self._excluded = frozenset(excluded)
        self._ignoring = ignoring

    def files(self, check: Callable[[], None]) -> Iterator[str]:
        """Yield their relative paths. ``check`` is called for each folder."""
        waiting: list[tuple[str, tuple[_Rules, ...]]] = [("", ())]
        while waiting:
            check()
            parent, rules = waiting.pop()
            try:
                with os.scandir(self._base / parent) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except OSError:
                continue
            if self._ignoring:
                rules = (*rules, *self._rules(parent, {entry.name for entry in entries}))
            for entry in entries:
                relative = f"{parent}/{entry.name}" if parent else entry.name
                if entry.name.startswith(".") or relative in self._excluded:
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                if not (is_folder or entry.is_file(follow_symlinks=False)) or _ignored(relative, rules, is_folder):
                    continue
                if is_folder:
                    waiting.append((relative, rules))
                else:
                    yield relative

    def _rules(self, parent: str, names: set[str]) -> Iterator[_Rules]:
        for kind, name in enumerate(_RULE_FILES):
            if name in names:
                lines = self._lines(f"{parent}/{name}" if parent else name)
                yield _Rules(kind, parent, GitIgnoreSpec.from_lines(filter(_is_rule, lines)))

    def _lines(self, relative: str) -> list[str]:
        try:
            with self._folder.open(relative) as opened:
                return os.read(opened.descriptor, _MAX_RULES_BYTES).decode(errors="replace").splitlines()
        except (FileAccessError, InvalidInputError, OSError):
            return []


class _Rules(NamedTuple):
    kind: int
    folder: str
    spec: GitIgnoreSpec


def _ignored(relative: str, rules: tuple[_Rules, ...], is_folder: bool) -> bool:
    for each in sorted(rules, key=lambda each: (each.kind, -len(each.folder))):
        below = relative[len(each.folder) + 1 :] if each.folder else relative
        said = each.spec.check_file(f"{below}/" if is_folder else below).include
        if said is not None:
            return said
    return False


def _is_rule(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return len(_STARS.findall(line)) <= _MAX_STARS
