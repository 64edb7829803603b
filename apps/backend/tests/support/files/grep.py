"""Searches over real trees with ripgrep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragcorp.application.files.grep import GrepFiles
from ragcorp.domain.files.values import ChunkPlace, FileAccess, FileMatches
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.file_search import FileLines, FileRepository, StoredLines
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.files.repository import LocalFileRepository
from ragcorp.infrastructure.files.ripgrep import Ripgrep, find_ripgrep
from ragcorp.infrastructure.files.safe_open import Roots
from support.files.roots import reader_of, roots_of

MAX_FILE = 256 * 1024
LONG = 60.0
"""Seconds: a deadline that no test reaches."""


def ripgrep_over(roots: Roots, *, processes: int = 4) -> Ripgrep:
    binary = find_ripgrep()
    assert binary is not None
    reader = reader_of(roots, max_file=MAX_FILE)
    return Ripgrep(roots=roots, binary=binary, reader=reader, max_file_bytes=MAX_FILE, processes=processes)


def found(matches: FileMatches) -> dict[str, list[tuple[int, int, int]]]:
    """Return the marks of each file as (line, start, end)."""
    return {file.path: [(mark.line, mark.start, mark.end) for mark in file.marks] for file in matches.files}


@dataclass(kw_only=True)
class StoredFiles:
    """Fake of the port FileDocuments. ``chunks`` gives the chunk of each line, by path."""

    withheld: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    chunks: dict[str, dict[int, ChunkPlace]] = field(default_factory=dict)
    calls: list[list[FileLines]] = field(default_factory=list)

    async def look_up(
        self, lines: Sequence[FileLines], *, principal: Principal, filters: Filters = ()
    ) -> list[StoredLines]:
        self.calls.append(list(lines))
        return [
            StoredLines(
                readable=self.withheld.isdisjoint(item.names),
                passes=self.excluded.isdisjoint(item.names),
                chunk=next(
                    (
                        place
                        for name in item.names
                        for line in item.matched_lines
                        if (place := self.chunks.get(name, {}).get(line))
                    ),
                    None,
                ),
            )
            for item in lines
        ]


def repository_over(roots: Roots) -> LocalFileRepository:
    return LocalFileRepository(
        roots=roots, reader=reader_of(roots, max_file=MAX_FILE, max_read=MAX_FILE), search=ripgrep_over(roots)
    )


def grep_over(
    *folders: Path,
    documents: StoredFiles | None = None,
    access: FileAccess | None = None,
    seconds: float = LONG,
    repository: FileRepository | None = None,
) -> GrepFiles:
    return GrepFiles(
        files=repository or repository_over(roots_of(*folders)),
        documents=documents or StoredFiles(),
        access=access or FileAccess(),
        timeout_seconds=seconds,
    )
