"""`ragcorp mcp`."""

from __future__ import annotations

import sys

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.cli.console.calls import Call


async def mcp(call: Call) -> None:
    """Serve the tools of the Model Context Protocol on stdin and stdout, for an assistant that starts this command.

    It needs ALLOWED_PATHS for files, and RAGCORP_DATA_DIR or DATABASE_URL for documents. It ends with its input.
    """
    if call.output.json:
        raise InvalidInputError(
            "The MCP server writes the protocol's own JSON.", field="--json", remedy="Leave the option out."
        )
    if sys.stdin.isatty():
        call.output.note("Waiting for messages of the protocol on stdin. Ctrl-C ends it.")
    await call.services.mcp(call.target)
