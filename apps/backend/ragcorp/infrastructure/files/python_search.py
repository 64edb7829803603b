"""Literal search in Python, for an environment without ripgrep. The same passages, at a tenth of the speed or less."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from threading import Event

import anyio.to_thread

from ragcorp.domain.exceptions import (
    FileAccessError,
    FileIsBinaryError,
    FileNotFoundInRootsError,
    FileTooLargeError,
    InvalidInputError,
)
from ragcorp.domain.files.values import FileMatches, GrepMode, LineSearch, MatchedFile
from ragcorp.infrastructure.files.findings import Findings, MarkedLines, folder_path, is_tellable
from ragcorp.infrastructure.files.patterns import Selection, Terms, without_line_end
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.root_folder import RootFolder
from ragcorp.infrastructure.files.safe_open import Roots
from ragcorp.infrastructure.files.tree_walk import TreeWalk

_BLOCK = 32 * 1024
"""Characters that are looked through at once. Other threads wait meanwhile."""
_MAX_LINE = 1024 * 1024


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
            with self._roots.searched(name) as folder:
                walk = TreeWalk(
                    folder,
                    base=folder_path(folder, self._path_of[name]),
                    excluded=excluded,
                    ignoring=self._search.gitignore,
                )
                for relative in walk.files(self._check):
                    if relative in self._selection:
                        self._search_file(name, folder, relative, terms)
        except FileAccessError:
            self._findings.unavailable.add(name)

    def _search_file(self, root: str, folder: RootFolder, relative: str, terms: Terms) -> None:
        path = f"{root}/{relative}"
        if not is_tellable(path):
            self._findings.refused.add(path)
            return
        try:
            with folder.open(relative) as opened:
                text, encoding = self._reader.load(opened)
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
        if encoding.startswith("utf-32"):  # to ripgrep it is binary
            self._findings.binary.add(path)
            return
        lines = MarkedLines(terms=len(terms), limit=self._findings.lines_of_term)
        try:
            self._mark(text, terms, lines)
        except _OverError:
            if lines.marks:
                lines.cut = True
                self._tell(root, relative, lines)
            raise
        self._tell(root, relative, lines)

    def _tell(self, root: str, relative: str, lines: MarkedLines) -> None:
        path = f"{root}/{relative}"
        self._findings.searched += 1
        if lines.marks:
            names = self._roots.names_of(root, relative)
            self._findings.add(MatchedFile(path=path, names=names, marks=tuple(lines.marks), cut=lines.cut))

    def _mark(self, text: str, terms: Terms, lines: MarkedLines) -> None:
        number = 0
        for block in _blocks(text):
            self._check()
            if len(block) <= _MAX_LINE and not terms.stand_in(block, lines.open):
                lines.cut = lines.cut or terms.stand_in(block, lines.closed)
                if lines.cut and not lines.open:
                    return
                number += block.count("\n")
                continue
            for line in block.removesuffix("\n").split("\n"):
                number += 1
                if len(line) <= _MAX_LINE and (found := terms.marks(without_line_end(line), number)):
                    lines.add(found)
                    self._findings.see(1)

    def _check(self) -> None:
        if self._cancelled.is_set() or self._findings.full:
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
