"""Dependencies of the MCP interface: use cases, the caller and limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.requests import Request

from ragcorp.application.memory.load_context import LoadContext
from ragcorp.domain.files.values import GrepResult
from ragcorp.domain.keys import Caller
from ragcorp.domain.ports.file_search import FileGrep, FileReading
from ragcorp.domain.ports.use_cases import ChunkSearch, QuestionAnswering
from ragcorp.domain.search.requests import SearchResponse


class SearchCounts(Protocol):
    """Counts searches."""

    def count_search(self, response: SearchResponse) -> None: ...

    def count_grep(self, result: GrepResult) -> None: ...


class Uncounted:
    """Counts nothing: standard input has no metrics."""

    def count_search(self, response: SearchResponse) -> None:
        pass

    def count_grep(self, result: GrepResult) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServices:
    """The use cases behind the tools, and the counter of searches."""

    search: ChunkSearch
    answer: QuestionAnswering
    context: LoadContext
    grep: FileGrep
    read: FileReading
    counts: SearchCounts = field(default_factory=Uncounted)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits:
    """Deadlines of a call, in seconds, from when the services are open."""

    tool_seconds: float = 5.0
    grep_seconds: float = 5.0
    ask_seconds: float = 5.0


OpenedServices = Callable[[], Awaitable[McpServices]]
"""Returns the services when they are open. Raises what opening them raised."""

CallerOf = Callable[[Request | None], Caller]
"""Returns the caller of the HTTP request that carried the call; the request is None on stdio."""
