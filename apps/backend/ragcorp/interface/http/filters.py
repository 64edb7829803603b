"""Filters and times as JSON has them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import JsonValue, WithJsonSchema

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search import (
    FILTER_FIELDS,
    MAX_FILTER_CONDITIONS,
    MAX_FILTER_NAME,
    MAX_FILTER_VALUES,
    Filters,
)
from ragcorp.interface.http.json_body import check_json
from ragcorp.interface.request_values import parse_filters

MAX_TIME_CHARACTERS = 40
_TIME = {"type": "string", "format": "date-time"}
_SCALAR = {"type": ["string", "number", "boolean"]}
_TEXTS = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_FILTER_VALUES},
    ]
}
FILTERS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": (
        "Conditions that all must hold: a value, a list of values (any of them), or for `occurred_at` a range. "
        "A name that is no field of a document is a metadata key."
    ),
    "properties": {
        **dict.fromkeys(sorted(FILTER_FIELDS - {"occurred_at"}), _TEXTS),
        "occurred_at": {
            "type": "object",
            "properties": {"gte": _TIME, "lt": _TIME},
            "minProperties": 1,
            "additionalProperties": False,
        },
    },
    "additionalProperties": {
        "anyOf": [_SCALAR, {"type": "array", "items": _SCALAR, "minItems": 1, "maxItems": MAX_FILTER_VALUES}]
    },
    "propertyNames": {"minLength": 1, "maxLength": MAX_FILTER_NAME},
    "maxProperties": MAX_FILTER_CONDITIONS,
}

FiltersJson = Annotated[dict[str, JsonValue], WithJsonSchema(FILTERS_SCHEMA)]


def filters_of_text(text: str | None, *, max_depth: int) -> Filters:
    """Return the filters of a JSON object in a query parameter. Raises InvalidInputError or RequestRefusedError."""
    if text is None:
        return ()
    filters = check_json(text.encode("utf-8", errors="replace"), max_depth=max_depth, field="filters")
    if not isinstance(filters, dict):
        raise InvalidInputError(
            "filters is not a JSON object.", field="filters", remedy='Send an object such as {"language": "es"}.'
        )
    return parse_filters(filters)


def parse_time(value: object) -> datetime:
    """Return an ISO 8601 date or time in UTC; one without a zone is taken to be in UTC. Raises ValueError."""
    if isinstance(value, datetime):
        return value
    try:
        if isinstance(value, str) and len(value) <= MAX_TIME_CHARACTERS:
            moment = datetime.fromisoformat(value)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError("This is not a date or time in ISO 8601")
