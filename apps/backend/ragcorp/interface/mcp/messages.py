"""Refuses invalid JSON-RPC messages: the SDK drops them on stdin, and elsewhere its errors repeat what was sent."""

import json

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json

STOPPING = "The service is stopping."

MAX_ID = 200

NO_JSON = "The message is not valid JSON."
NO_MESSAGE = "The message is no single JSON-RPC message."
NO_ID = "The id of a request is a text or a whole number."


def refusals(message: bytes | str) -> list[JSONRPCError]:
    """Return the errors that answer an invalid message, one per request of a batch, with its id if that can be read."""
    try:
        read = from_json(message, allow_inf_nan=False)
    except ValueError:
        return [_error(PARSE_ERROR, NO_JSON, of=_read_loosely(message))]
    if isinstance(read, list):
        requests = [part for part in read if _id(part) is not None]
        return [_error(INVALID_REQUEST, NO_MESSAGE, of=request) for request in requests or [None]]
    if isinstance(read, dict) and "method" in read and "id" in read and _id(read) is None:
        return [_error(INVALID_REQUEST, NO_ID)]
    try:
        jsonrpc_message_adapter.validate_python(read, by_name=False)
    except ValidationError:
        return [_error(INVALID_REQUEST, NO_MESSAGE, of=read)]
    return []


def _read_loosely(message: bytes | str) -> object:
    """Return JSON with lone surrogates or NaN, which strict JSON forbids; None for any other text."""
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def _error(code: int, message: str, *, of: object = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=_id(of), error=ErrorData(code=code, message=message))


def _id(message: object) -> int | str | None:
    """Return the id of a request. The id in a response is that of a request of the server's, which the client lacks."""
    if not isinstance(message, dict) or "result" in message or "error" in message:
        return None
    value = message.get("id")
    if isinstance(value, str):
        return value if len(value) <= MAX_ID and not any("\ud800" <= char <= "\udfff" for char in value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None
