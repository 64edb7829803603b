"""Dependencies of the MCP interface: use cases, search counters, caller and deadlines."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request

from ragcorp.domain.files.values import GrepResult
from ragcorp.domain.keys import Caller
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.use_cases import UseCases


def _uncounted(_: object) -> None:
    """A server on standard input exports no metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServices:
    """Use cases of the tools, and the counters of their results."""

    use_cases: UseCases
    count_search: Callable[[SearchResponse], None] = _uncounted
    count_grep: Callable[[GrepResult], None] = _uncounted


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
