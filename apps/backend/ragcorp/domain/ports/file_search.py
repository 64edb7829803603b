"""Ports for files that are searched and read where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragcorp.domain.files.values import ChunkPlace, FileMatches, FileText, GrepRequest, GrepResult, LineSearch
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal


class FileRepository(Protocol):
    """Searches and reads the files below the configured roots, and nothing outside them."""

    @property
    def roots(self) -> tuple[str, ...]:
        """The logical names of the roots, in the order in which a bare path is tried."""
        ...

    async def search(self, search: LineSearch, *, seconds: float) -> FileMatches:
        """Return the lines that match, file by file.

        Past ``seconds`` it returns what it has (``timed_out``). Raises InvalidInputError for a pattern that is no
        regular expression, or is too large, and SourceUnavailableError where no search can be run.
        """
        ...

    async def names(self, path: str) -> tuple[str, ...]:
        """Return the paths by which the file that ``path`` leads to can be read, ``root/relative`` first.

        Raises a FileAccessError, and InvalidInputError for what is no path.
        """
        ...

    async def read(self, path: str, *, line_start: int | None = None, line_end: int | None = None) -> FileText:
        """Return a file, or lines of it. Raises a FileAccessError, and InvalidInputError for lines that are none."""
        ...

    async def read_passages(
        self, path: str, spans: Sequence[tuple[int, int]], *, kept: Sequence[int] | None = None
    ) -> list[FileText]:
        """Return several spans of lines (clipped to the file) of one file, opened once. Raises a FileAccessError.

        Where ``kept`` names a line of each, a span is what a passage around that line may hold: lines further away
        are left out, long ones cut at their end, and no span is too large.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlace:
    """Where a file lies on this machine. It is for storage alone, and shown nowhere.

    ``folders`` are the folder that it lies in and all above: the key of each among the ingested folders, and how many
    characters of ``path`` come before what lies below it.
    """

    path: str = field(repr=False)
    folders: tuple[tuple[bytes, int], ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLines:
    """Lines of a file, and what stands in the matches there, as it is written in the file.

    ``names`` are the paths by which a document of ours may know the file, ``root/relative`` first. ``line_texts`` are
    the matched lines themselves, stripped: some of them, and of a long one what surrounds its match.
    """

    names: tuple[str, ...]
    line_start: int
    line_end: int
    matched_lines: tuple[int, ...]
    matched_texts: tuple[str, ...]
    line_texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLines:
    """What is stored of some lines of a file.

    ``readable`` is False where a document of that path is stored that the caller may not read; ``passes`` where one is
    stored that the filters exclude; ``chunk`` is the passage that holds the most of the matches, if any does.
    ``document`` says whether a document of that path is stored which the caller may read.
    """

    readable: bool = True
    document: bool = False
    passes: bool = True
    chunk: ChunkPlace | None = None


class FileDocuments(Protocol):
    """Tells which files are documents of ours. One round trip a call."""

    async def known(
        self, lines: Sequence[FileLines], *, principal: Principal, filters: Filters = ()
    ) -> list[KnownLines]:
        """Return one answer for each, in order. Raises StorageUnavailableError."""
        ...


class TermFrequencies(Protocol):
    """Tells how many chunks of a workspace hold each word of a text."""

    async def document_frequencies(self, text: str, *, principal: Principal) -> Mapping[str, int]:
        """Return the number for each word as it is written in ``text``; one round trip. 0: no chunk holds it."""
        ...

    async def count_chunks(self, *, principal: Principal) -> int:
        """Return the number of all chunks of the principal's workspace, by the same statistics."""
        ...


class FileGrep(Protocol):
    """Searches files for a caller (the use case, as sources and tools see it)."""

    async def grep(self, request: GrepRequest, *, principal: Principal, filters: Filters = ()) -> GrepResult:
        """Raises InvalidInputError, FileAccessDeniedError, SourceUnavailableError or StorageUnavailableError."""
        ...


class FileReading(Protocol):
    """Reads a file for a caller (the use case)."""

    async def read(
        self, path: str, *, principal: Principal, line_start: int | None = None, line_end: int | None = None
    ) -> FileText: ...
