"""What a search of files has found so far, in several threads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from threading import Lock

from ragcorp.domain.files import MAX_PATH, FileMatches, Mark, MatchedFile, SkippedFiles
from ragcorp.infrastructure.files.root_folder import RootFolder

MAX_MARKS = 40_000
"""Of a search. A pattern like ``.`` marks every character."""

_BREAKS_LINES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DESCRIPTORS = Path("/proc/self/fd")
_HAS_DESCRIPTORS = _DESCRIPTORS.is_dir()


class Findings:
    """Takes matched files, their marks in order, until ``max_lines`` lines or MAX_MARKS marks are found.

    Skipped files are told by their paths.
    """

    def __init__(self, *, max_lines: int) -> None:
        self._left = max_lines
        self._marks = 0
        self._lock = Lock()
        self._files: list[MatchedFile] = []
        self.binary: set[str] = set()
        self.too_large: set[str] = set()
        self.refused: set[str] = set()
        self.searched = 0
        self.cut = False
        self.timed_out = False

    def add(self, file: MatchedFile) -> None:
        with self._lock:
            marks: list[Mark] = []
            for _, of_line in groupby(file.marks, key=lambda mark: mark.line):
                if not self.cut:
                    marks += of_line
                    self._left -= 1
                    self.cut = self._left <= 0 or self._marks + len(marks) >= MAX_MARKS
            self._marks += len(marks)
            if marks:
                self._files.append(replace(file, marks=tuple(marks)))

    def matches(self, roots: Sequence[str]) -> FileMatches:
        """Return what was found, files by root and path. Of a search that was ended ``searched`` is a lower bound."""
        order = {name: number for number, name in enumerate(roots)}
        files = sorted(self._files, key=lambda file: (order[file.path.split("/", 1)[0]], file.path))
        return FileMatches(
            files=tuple(files),
            searched=max(self.searched, len(files)),
            skipped=SkippedFiles(binary=len(self.binary), too_large=len(self.too_large), refused=len(self.refused)),
            cut=self.cut,
            timed_out=self.timed_out,
        )


def is_tellable(path: str) -> bool:
    """Say whether a path, ``root/relative``, can be shown on a line and asked for."""
    return len(path) <= MAX_PATH and not _BREAKS_LINES.search(path)


def folder_path(folder: RootFolder, path: Path) -> Path:
    """Return a path to the very folder that was opened, whatever its ``path`` leads to by now, where there is one."""
    return _DESCRIPTORS / str(folder.descriptor) if _HAS_DESCRIPTORS else path
