"""JSON responses from plain values: models only describe them, which keeps the hot path fast."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.responses import Response


def dumps(value: Any) -> bytes:
    """Return ``value`` as JSON in UTF-8. Dates are ISO 8601, UUIDs text, enumerations their value."""
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError:  # orjson stops at 64-bit integers; metadata may contain larger ones
        return json.dumps(value, ensure_ascii=False, default=_plain_or_text).encode()


def json_response(value: Any, *, status: int = 200) -> Response:
    return Response(dumps(value), status_code=status, media_type="application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _plain_or_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
