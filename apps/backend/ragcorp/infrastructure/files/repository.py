"""The port FileRepository over the folders of this machine."""

from collections.abc import Sequence
from functools import partial

import anyio.to_thread
from anyio import CapacityLimiter

from ragcorp.domain.files.values import FileMatches, FileText, LineSearch
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.file_search import FileLines, HostPlace, StoredLines
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.ripgrep import Ripgrep
from ragcorp.infrastructure.files.roots import place_of
from ragcorp.infrastructure.files.safe_open import Roots

_THREADS = 4


class LocalFileRepository:
    """Searches with ripgrep, and reads in its own threads, a few at a time.

    A cancelled call ends with its thread: no file stays open.
    """

    def __init__(self, *, roots: Roots, reader: FileReader, search: Ripgrep) -> None:
        self._roots = roots
        self._reader = reader
        self._search = search
        self._limiter = CapacityLimiter(_THREADS)

    @property
    def roots(self) -> tuple[str, ...]:
        return self._roots.names

    async def search(self, search: LineSearch, *, seconds: float) -> FileMatches:
        return await self._search.search(search, seconds=seconds)

    async def names(self, path: str) -> tuple[str, ...]:
        return await anyio.to_thread.run_sync(self._reader.names, path, limiter=self._limiter)

    async def read(self, path: str, *, line_start: int | None = None, line_end: int | None = None) -> FileText:
        call = partial(self._reader.read, path, line_start=line_start, line_end=line_end)
        return await anyio.to_thread.run_sync(call, limiter=self._limiter)

    async def read_passages(
        self, path: str, spans: Sequence[tuple[int, int]], *, kept: Sequence[int] | None = None
    ) -> list[FileText]:
        call = partial(self._reader.read_passages, path, spans, kept=kept)
        return await anyio.to_thread.run_sync(call, limiter=self._limiter)

    def place(self, path: str) -> HostPlace | None:
        """Return the place of ``root/relative`` on this machine."""
        return place_of(self._roots.entries, path)


class NoFileDocuments:
    """A ``FileDocuments`` that knows nothing, for a user's files on the user's own machine."""

    async def look_up(
        self,
        lines: Sequence[FileLines],
        *,
        principal: Principal,  # noqa: ARG002
        filters: Filters = (),  # noqa: ARG002
    ) -> list[StoredLines]:
        return [StoredLines() for _ in lines]
