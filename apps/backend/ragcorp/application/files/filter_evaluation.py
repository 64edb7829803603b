"""What a filter says of one thing, worked out over plain values; storage says the same in SQL."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ragcorp.domain.filters import (
    COMPARISONS,
    METADATA,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Filters,
    Not,
    Operator,
)
from ragcorp.domain.principal import Sensitivity

Comparable = str | bool | Decimal | datetime

_COMPARED: Mapping[Operator, Callable[..., bool]] = {
    Operator.GT: operator.gt,
    Operator.GTE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LTE: operator.le,
}


def meets(filters: Filters, fields: Mapping[str, object]) -> bool:
    """Say whether a thing passes: its values by field name, with its metadata, a mapping, under ``metadata``.

    A field that is None or not there is missing.
    """
    return all(_holds(part, fields) for part in filters)


def _holds(tree: Filter, fields: Mapping[str, object]) -> bool:
    match tree:
        case AllOf():
            return all(_holds(part, fields) for part in tree.parts)
        case AnyOf():
            return any(_holds(part, fields) for part in tree.parts)
        case Not():
            return not _holds(tree.part, fields)
        case Condition():
            return _condition_holds(tree, fields)


def _condition_holds(condition: Condition, fields: Mapping[str, object]) -> bool:
    metadata = fields.get(METADATA)
    source = (metadata if isinstance(metadata, Mapping) else {}) if condition.of_metadata else fields
    value = source.get(condition.name)
    if condition.operator is Operator.EXISTS:
        return (value is not None) is condition.values[0]
    held = _comparable(condition.name, value)
    asked = [_comparable(condition.name, each) for each in condition.values]
    if condition.operator in COMPARISONS:
        return held is not None and type(held) is type(asked[0]) and _COMPARED[condition.operator](held, asked[0])
    equal = held is not None and any(type(held) is type(each) and held == each for each in asked)
    return equal is (condition.operator is Operator.IN)


def _comparable(name: str, value: object) -> Comparable | None:
    """Return a value as it compares; None of what is missing, or is a list or an object."""
    if isinstance(value, Sensitivity):
        return Decimal(int(value))
    if isinstance(value, str | UUID):
        if name == "sensitivity":
            return Decimal(int(Sensitivity.parse(str(value))))
        return str(UUID(str(value))) if name == "document_id" else str(value)
    if isinstance(value, bool | datetime):
        return value
    # numbers are what is written, as in JSON: 10**23 is 1e23
    return Decimal(repr(value)) if isinstance(value, int | float) else None
