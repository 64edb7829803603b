"""The MCP server over a container, and its endpoint in the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import ragcorp
from ragcorp.domain.keys import Caller
from ragcorp.domain.principal import Principal
from ragcorp.main.service.deadlines import ask_seconds, grep_seconds
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.container import Container

if TYPE_CHECKING:
    from starlette.requests import Request

    from ragcorp.interface.http.monitoring.metrics import HttpMetrics
    from ragcorp.interface.http.protocol.limits import HttpLimits
    from ragcorp.interface.mcp.endpoint import McpEndpoint
    from ragcorp.interface.mcp.services import McpLimits

MAX_SESSIONS = 256
MAX_SESSIONS_OF_KEY = MAX_SESSIONS // 4

ANONYMOUS = Caller(principal=Principal(), scopes=frozenset())


@asynccontextmanager
async def mounted_mcp(
    container: Container, limits: HttpLimits, metrics: HttpMetrics, *, keeps_sessions: bool
) -> AsyncIterator[McpEndpoint | None]:
    """Yield the endpoint, whose sessions end with the block; None without the extra ``mcp``."""
    if find_spec("mcp") is None:
        yield None
        return
    from ragcorp.interface.http.protocol.request_scope import caller_of
    from ragcorp.interface.mcp.endpoint import EndpointLimits, McpEndpoint
    from ragcorp.interface.mcp.server import make_mcp_server
    from ragcorp.interface.mcp.services import McpServices

    def caller_by(request: Request | None) -> Caller:
        return ANONYMOUS if request is None else caller_of(request.scope)

    services = McpServices(
        use_cases=container.use_cases, count_search=metrics.count_search, count_grep=metrics.count_grep
    )
    stopping = asyncio.Event()

    async def opened() -> McpServices:
        return services

    server = make_mcp_server(
        opened,
        caller_of=caller_by,
        limits=mcp_limits(container.settings),
        version=ragcorp.__version__,
        stopping=stopping,
    )
    endpoint = McpEndpoint(
        server,
        limits=EndpointLimits(
            max_body_bytes=limits.max_body_bytes,
            upload_seconds=limits.upload_timeout_seconds,
            max_sessions=MAX_SESSIONS,
            max_sessions_of_key=MAX_SESSIONS_OF_KEY,
        ),
        owner_of=lambda scope: caller_of(scope).key_id,
        stopping=stopping,
        keeps_sessions=keeps_sessions,
    )
    async with endpoint.running():
        yield endpoint


def mcp_limits(settings: Settings) -> McpLimits:
    """Return the deadlines of the tools, which equal those of the routes."""
    from ragcorp.interface.mcp.services import McpLimits

    return McpLimits(
        tool_seconds=settings.request_timeout_seconds,
        grep_seconds=grep_seconds(settings),
        ask_seconds=ask_seconds(settings),
    )
