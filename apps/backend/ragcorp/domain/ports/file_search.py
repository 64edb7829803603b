"""Ports for searching and reading files in place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragcorp.domain.files.values import ChunkPlace, FileMatches, FileText, LineSearch
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal


class FileRepository(Protocol):
    """Searches and reads the files below the configured roots, and nothing outside them."""

    @property
    def roots(self) -> tuple[str, ...]:
        """The logical names of the roots, in the order in which a bare path is tried."""

    async def search(self, search: LineSearch, *, seconds: float) -> FileMatches:
        """Return matching lines, those found in ``seconds``. Raises InvalidInputError or SourceUnavailableError."""

    async def names(self, path: str) -> tuple[str, ...]:
        """Return the paths of the file, ``root/relative`` first. Raises a FileAccessError, or InvalidInputError."""

    async def read(self, path: str, *, line_start: int | None = None, line_end: int | None = None) -> FileText:
        """Return a file, or lines of it. Raises a FileAccessError, and InvalidInputError for an invalid range."""

    async def read_passages(
        self, path: str, spans: Sequence[tuple[int, int]], *, kept: Sequence[int] | None = None
    ) -> list[FileText]:
        """Return several spans of lines (clipped to the file) of one file, opened once. Raises a FileAccessError.

        If ``kept`` names a line of each, a span is the part that a passage around that line may contain: further lines
        are omitted, long ones cut at their end, and no span is too large.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlace:
    """The place of a file on this machine. For storage only, never shown.

    ``folders`` are its folder and all above: for each its key among the ingested folders, and the number of characters
    of ``path`` before its contents.
    """

    path: str = field(repr=False)
    folders: tuple[tuple[bytes, int], ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLines:
    """Lines of a file and the texts of its matches; without lines, the file.

    ``names`` are the paths by which a stored document may refer to the file, ``root/relative`` first. ``line_texts``
    are some of the matched lines, stripped; of a long one the part around its match.
    """

    names: tuple[str, ...]
    line_start: int = 1
    line_end: int = 1
    matched_lines: tuple[int, ...] = ()
    matched_texts: tuple[str, ...] = ()
    line_texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLines:
    """Stored data about lines of a file.

    ``readable`` is False if a document of that path is stored that the caller may not read, ``passes`` if the filters
    exclude one. ``chunk`` is the chunk that contains the most matches. ``document``: a document of that path is stored
    and the caller may read it.
    """

    readable: bool = True
    document: bool = False
    passes: bool = True
    chunk: ChunkPlace | None = None


class FileDocuments(Protocol):
    """Looks up which files are stored documents. One round trip per call."""

    async def look_up(
        self, lines: Sequence[FileLines], *, principal: Principal, filters: Filters = ()
    ) -> list[StoredLines]:
        """Return one answer for each, in order. Raises StorageUnavailableError."""


class TermFrequencies(Protocol):
    """Counts the chunks of a workspace that contain each word of a text."""

    async def document_frequencies(self, text: str, *, principal: Principal) -> Mapping[str, int]:
        """Return the count for each word as written in ``text``; one round trip. 0: no chunk contains it."""

    async def count_chunks(self, *, principal: Principal) -> int:
        """Return the number of all chunks of the principal's workspace, by the same statistics."""
