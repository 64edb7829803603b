"""Sends the client the status of a search, as a log message on the stream of its request."""

from __future__ import annotations

import warnings
from typing import Any

import anyio
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import EmptyResult, LoggingLevel, SetLevelRequestParams

from ragcorp.interface.shapes.search_status import GrepStatus

LOGGER = "ragcorp"
LEVEL: LoggingLevel = "info"
QUIET_LEVELS = frozenset[LoggingLevel]({"notice", "warning", "error", "critical", "alert", "emergency"})

_WANTED = "ragcorp.log_level"


async def send_status(context: ServerRequestContext[Any, Any], status: GrepStatus) -> None:
    """Send ``notifications/message`` of level info.

    A client of protocol 2026-07-28 gets it if its request sets a level in ``_meta``; an older one unless it chose a
    level above info. The result does not depend on whether the client still listens.
    """
    if _state(context).get(_WANTED) in QUIET_LEVELS:
        return
    with warnings.catch_warnings():
        # deprecated as of 2026-07-28, where a client opts in; there is no other message for a status
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        sending = context.session.send_log_message(LEVEL, status, logger=LOGGER, related_request_id=context.request_id)
    try:
        await sending
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return


async def set_level(context: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> EmptyResult:
    """Keep the level for the session (``logging/setLevel`` of the older protocols)."""
    _state(context)[_WANTED] = params.level
    return EmptyResult()


def _state(context: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    return context.session._connection.state  # noqa: SLF001 - the SDK gives handlers no other way to the connection
