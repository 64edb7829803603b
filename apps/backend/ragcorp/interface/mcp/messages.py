"""Refuses what is no JSON-RPC message. The SDK drops it over stdin, and its words elsewhere repeat what was sent."""

from __future__ import annotations

import json

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json

STOPPING = "The service is stopping."

MAX_ID = 200
"""Characters of an id that an error of ours repeats."""

NO_JSON = "The message is not valid JSON."
NO_MESSAGE = "The message is no single JSON-RPC message."
NO_ID = "The id of a request is a text or a whole number."


def refusals(message: bytes | str) -> list[JSONRPCError]:
    """Return the errors that answer what is no message: one, or one for each request of a batch. None for a message.

    An error has the id of its request where that can be known, as whoever sent it waits for it.
    """
    try:
        read = from_json(message, allow_inf_nan=False)
    except ValueError:
        return [_error(PARSE_ERROR, NO_JSON, of=_read_loosely(message))]
    if isinstance(read, list):
        requests = [each for each in read if _id(each) is not None]
        return [_error(INVALID_REQUEST, NO_MESSAGE, of=each) for each in requests or [None]]
    if isinstance(read, dict) and "method" in read and "id" in read and _id(read) is None:
        return [_error(INVALID_REQUEST, NO_ID)]
    try:
        jsonrpc_message_adapter.validate_python(read, by_name=False)
    except ValidationError:
        return [_error(INVALID_REQUEST, NO_MESSAGE, of=read)]
    return []


def _read_loosely(message: bytes | str) -> object:
    """Return JSON that holds what JSON may not: half a character, NaN. None for any other text."""
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def _error(code: int, message: str, *, of: object = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=_id(of), error=ErrorData(code=code, message=message))


def _id(message: object) -> int | str | None:
    """Return the id of what asks. An answer has one too, but of a request of ours, which the client does not know."""
    if not isinstance(message, dict) or "result" in message or "error" in message:
        return None
    found = message.get("id")
    if isinstance(found, str):
        return found if len(found) <= MAX_ID and not any("\ud800" <= each <= "\udfff" for each in found) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**63 else None
