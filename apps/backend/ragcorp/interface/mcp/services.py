"""Dependencies of the MCP interface: use cases, search counter, caller and deadlines."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.requests import Request

from ragcorp.domain.files.values import GrepResult
from ragcorp.domain.keys import Caller
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.use_cases import UseCases


class SearchCounts(Protocol):
    """Counts searches of every interface."""

    def count_search(self, response: SearchResponse) -> None: ...

    def count_grep(self, result: GrepResult) -> None: ...


class Uncounted:
    """Null counter: a server on standard input exports no metrics."""

    def count_search(self, response: SearchResponse) -> None:
        pass

    def count_grep(self, result: GrepResult) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServices:
    """Use cases of the tools, and the counter of their results."""

    use_cases: UseCases
    counts: SearchCounts = field(default_factory=Uncounted)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits:
    """Deadlines of a call in seconds, from the moment that the services are open."""

    tool_seconds: float = 5.0
    grep_seconds: float = 5.0
    ask_seconds: float = 5.0


OpenedServices = Callable[[], Awaitable[McpServices]]
"""Returns the services once they are open. Raises what opening them raised."""

CallerOf = Callable[[Request | None], Caller]
"""Returns the caller of the HTTP request that carried the call; None stands for stdio."""
