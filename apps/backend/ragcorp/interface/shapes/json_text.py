"""Shapes as JSON. The typed dicts describe them; writing them costs no validation."""

import json
from collections.abc import Mapping
from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """Return ``value`` as JSON in UTF-8. Dates are ISO 8601, UUIDs text, enumerations their value."""
    try:
        return orjson.dumps(value, default=_mapping)
    except TypeError:  # orjson stops at 64-bit integers, and metadata may hold a larger one
        return json.dumps(value, ensure_ascii=False, default=mapping_or_text).encode()


def json_object(value: Any) -> dict[str, object]:
    """Return a shape as an object of JSON's own types."""
    plain: dict[str, object] = json.loads(dumps(value))
    return plain


def mapping_or_text(value: Any) -> Any:
    """Return a read-only mapping as a dict, a date in ISO 8601, all else as its text: a ``default`` of json.dumps."""
    if isinstance(value, Mapping):
        return dict(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
