"""The results of a running search of files. Several threads add to them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from threading import Lock

from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.files.values import MAX_PATH, FileMatches, Mark, MatchedFile, SkippedFiles
from ragcorp.infrastructure.files.root_folder import RootFolder

MAX_MARKS = 40_000
"""Of a search. A pattern like ``.`` marks every character."""

MAX_LINES_OF_TERM = 1_000
"""Lines of one file that are kept for each term, at first: the first ones."""

FEW_LINES = 100
"""A term in fewer lines of a file than these may occur again behind the point where the search of the file stopped."""

SEEN_FACTOR = 4
"""A search ends early after this multiple of the lines that it may return."""

_BREAKS_LINES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DESCRIPTORS = Path("/proc/self/fd")
_HAS_DESCRIPTORS = _DESCRIPTORS.is_dir()


class MarkedLines:
    """The marks of one file, added line by line: for each term those in its first ``limit`` lines.

    Marks of other terms in such a line are kept too. ``cut``: further lines were omitted.
    """

    def __init__(self, *, terms: int, limit: int) -> None:
        self._limit = limit
        self._lines: Counter[int] = Counter()
        self.open = set(range(terms))
        self.closed: set[int] = set()
        self.marks: list[Mark] = []
        self.count = 0
        self.cut = False

    def add(self, marks: Sequence[Mark]) -> None:
        """Take the marks of the next line that has any."""
        terms = {mark.term for mark in marks}
        if self.open.isdisjoint(terms):
            self.cut = True
            return
        self.marks += marks
        self.count += 1
        self._lines.update(terms)
        full = {term for term in terms if self._lines[term] >= self._limit}
        self.open -= full
        self.closed |= full


class Findings:
    """Collects matched files until ``max_lines`` lines or MAX_MARKS marks are found.

    Beyond that, all files lose lines before a file is dropped: the lines per term and file are halved until everything
    fits, and only at one line per file is the search ``full``. So the result does not depend on the order of the
    matches. Skipped files are recorded by path, ``unavailable`` roots by name.
    """

    def __init__(self, *, max_lines: int) -> None:
        self._max_lines = max_lines
        self._lock = Lock()
        self._files: list[MatchedFile] = []
        self._lines = 0
        self._marks = 0
        self._seen = 0
        self.lines_of_term = min(MAX_LINES_OF_TERM, max_lines)
        self.binary: set[str] = set()
        self.too_large: set[str] = set()
        self.refused: set[str] = set()
        self.unavailable: set[str] = set()
        self.searched = 0
        self.full = False
        self.timed_out = False
        self.stopped = False
        """Whether a file was not searched to its end."""

    def see(self, lines: int) -> None:
        """Count examined lines."""
        self._seen += lines
        self.full = self.full or self._seen >= SEEN_FACTOR * self._max_lines

    def add(self, file: MatchedFile) -> None:
        with self._lock:
            kept, lines = _shortened(file, self.lines_of_term)
            self._files.append(kept)
            self._lines += lines
            self._marks += len(kept.marks)
            while self._lines >= self._max_lines or self._marks >= MAX_MARKS:
                if self.lines_of_term == 1:
                    self.full = True
                    return
                self._halve()

    def rare_terms(self, terms: int) -> frozenset[int]:
        """Return the terms that have few lines in every file: more may follow behind those of the others."""
        few = min(FEW_LINES, self.lines_of_term)
        lines = [Counter(term for _, term in {(mark.line, mark.term) for mark in file.marks}) for file in self._files]
        return frozenset(term for term in range(terms) if all(of_file[term] < few for of_file in lines))

    def merge(self, further: Findings) -> None:
        """Add the lines of another search, in these and further files."""
        files = {file.path: file for file in self._files}
        for file in further._files:
            earlier = files.get(file.path)
            if earlier is not None:
                self._files.remove(earlier)
                self._marks -= len(earlier.marks)
                self._lines -= len({mark.line for mark in earlier.marks})
                file = replace(earlier, marks=tuple(sorted({*earlier.marks, *file.marks})))  # noqa: PLW2901
            self.add(file)
        self.timed_out = self.timed_out or further.timed_out
        self.full = self.full or further.full

    def _halve(self) -> None:
        self.lines_of_term //= 2
        shortened = [_shortened(file, self.lines_of_term) for file in self._files]
        self._files = [file for file, _ in shortened]
        self._lines = sum(lines for _, lines in shortened)
        self._marks = sum(len(file.marks) for file in self._files)

    def matches(self, roots: Sequence[str]) -> FileMatches:
        """Return the matches, files by root and path. For a search that ended early, ``searched`` is a lower bound.

        Raises SourceUnavailableError when no root could be entered.
        """
        unavailable = tuple(name for name in roots if name in self.unavailable)
        if unavailable and len(unavailable) == len(roots):
            raise SourceUnavailableError(
                "None of the folders of ALLOWED_PATHS can be entered.",
                reason="root_unavailable",
                remedy="Mount or restore them.",
            )
        order = {name: number for number, name in enumerate(roots)}
        files = sorted(self._files, key=lambda file: (order[file.path.split("/", 1)[0]], file.path))
        return FileMatches(
            files=tuple(files),
            searched=self.searched,
            skipped=SkippedFiles(binary=len(self.binary), too_large=len(self.too_large), refused=len(self.refused)),
            cut=self.full,
            timed_out=self.timed_out,
            unavailable=unavailable,
        )


def _shortened(file: MatchedFile, limit: int) -> tuple[MatchedFile, int]:
    """Return a file with the first ``limit`` lines of each term, and how many lines these are."""
    lines = MarkedLines(terms=1 + max((mark.term for mark in file.marks), default=0), limit=limit)
    for _, of_line in groupby(file.marks, key=lambda mark: mark.line):
        lines.add(list(of_line))
    return (replace(file, marks=tuple(lines.marks), cut=True) if lines.cut else file), lines.count


def is_tellable(path: str) -> bool:
    """Return whether a path, ``root/relative``, can be shown on one line and requested."""
    return len(path) <= MAX_PATH and not _BREAKS_LINES.search(path)


def folder_path(folder: RootFolder, path: Path) -> Path:
    """Return a path to the opened folder itself, even if ``path`` leads elsewhere by now; else ``path``."""
    return _DESCRIPTORS / str(folder.descriptor) if _HAS_DESCRIPTORS else path
