"""Filters and times in JSON."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import JsonValue, WithJsonSchema

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import (
    COLLECTION,
    COMPARISONS,
    FILTER_FIELDS,
    MAX_FILTER_DEPTH,
    MAX_FILTER_NAME,
    MAX_FILTER_VALUES,
    Filters,
)
from ragcorp.domain.moments import written_moment
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.http.protocol.json_body import check_json
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.request_values import parse_selection

FILTERS_REF = {"$ref": "#/components/schemas/Filters"}


def _field(value: dict[str, Any], *, compared: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of a field's filter: a value, a list or operators; ``compared`` is its ordered type."""
    values = {"type": "array", "items": value, "minItems": 1, "maxItems": MAX_FILTER_VALUES}
    operators = {"$eq": value, "$ne": value, "$in": values, "$nin": values}
    return {"anyOf": [value, values, _operators(operators | _comparisons(compared))]}


def _operators(operators: dict[str, Any]) -> dict[str, Any]:
    inner = operators | {"$exists": {"type": "boolean"}}
    return {
        "type": "object",
        "properties": inner | {"$not": {"type": "object", "properties": inner, "minProperties": 1}},
        "minProperties": 1,
        "additionalProperties": False,
    }


def _comparisons(value: dict[str, Any] | None) -> dict[str, Any]:
    return {} if value is None else {f"${operator.value}": value for operator in sorted(COMPARISONS)}


_TEXT = {"type": "string"}
_TIME = {"type": "string", "format": "date-time"}
_LEVEL = {"type": "string", "enum": [level.label for level in Sensitivity]}
_SCALAR = {"type": ["string", "number", "boolean"]}


def filters_schema(conditions: int) -> dict[str, Any]:
    """Return the recursive component ``Filters``; ``conditions`` is their maximum."""
    parts = {"type": "array", "items": FILTERS_REF, "minItems": 1, "maxItems": conditions}
    return {
        "type": "object",
        "description": (
            "Conditions that all must hold: a value, a list of values (any of them), or an object of operators. A name "
            "that is no field is a metadata key. `$ne`, `$nin` and `$not` hold, too, where the value is missing, and "
            "null is missing. Metadata equals, and compares to, values of its own type only. A source that lacks a "
            "field is left out and named in `degraded`. "
            f"At most {conditions} conditions, nested {MAX_FILTER_DEPTH} deep."
        ),
        "properties": {
            "$and": parts,
            "$or": parts,
            "$not": FILTERS_REF,
            **dict.fromkeys(sorted(FILTER_FIELDS), _field(_TEXT)),
            COLLECTION: _field(_TEXT),
            "sensitivity": _field(_LEVEL, compared=_LEVEL),
            "visibility_scope": _field({"type": "string", "enum": list(VisibilityScope)}),
            "occurred_at": _operators(_comparisons(_TIME) | {"gte": _TIME, "lt": _TIME}),
        },
        "additionalProperties": _field(_SCALAR, compared={"type": ["string", "number"]}),
        "propertyNames": {"minLength": 1, "maxLength": MAX_FILTER_NAME},
        "maxProperties": conditions,
        "examples": [
            {"language": "es", "year": {"$gte": 2025}},
            {"$or": [{"artifact_type": ["contract", "policy"]}, {"$not": {"department": "ventas"}}]},
        ],
    }


FiltersJson = Annotated[dict[str, JsonValue], WithJsonSchema(FILTERS_REF)]


def filters_of_text(text: str | None, *, limits: HttpLimits) -> Filters:
    """Return a query parameter's filters, as ``parse_selection``. Raises InvalidInputError or RequestRefusedError."""
    if text is None:
        return ()
    filters = check_json(text.encode("utf-8", errors="replace"), max_depth=limits.max_json_depth, field="filters")
    if not isinstance(filters, dict):
        raise InvalidInputError(
            "filters is not a JSON object.", field="filters", remedy='Send an object such as {"language": "es"}.'
        )
    return parse_selection(filters, conditions=limits.max_filter_conditions)


def parse_time(value: object) -> datetime:
    """Return an ISO 8601 date or time in UTC; one without a zone is taken to be in UTC. Raises ValueError."""
    if isinstance(value, datetime):
        return value
    try:
        if isinstance(value, str):
            moment = written_moment(value)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError("This is not a date or time in ISO 8601")
