"""Evaluates a filter over plain values; storage evaluates it in SQL."""

import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ragcorp.domain.filters import COMPARISONS, METADATA, AllOf, AnyOf, Condition, Filter, Filters, Not, Operator
from ragcorp.domain.principal import Sensitivity

Comparable = str | bool | Decimal | datetime

_COMPARED: Mapping[Operator, Callable[..., bool]] = {
    Operator.GT: operator.gt,
    Operator.GTE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LTE: operator.le,
}


def meets(filters: Filters, fields: Mapping[str, object]) -> bool:
    """Return whether values by field name pass the filters; ``metadata`` is a mapping. None counts as missing."""
    return all(_meets(part, fields) for part in filters)


def _meets(tree: Filter, fields: Mapping[str, object]) -> bool:
    match tree:
        case AllOf():
            return all(_meets(part, fields) for part in tree.parts)
        case AnyOf():
            return any(_meets(part, fields) for part in tree.parts)
        case Not():
            return not _meets(tree.part, fields)
        case Condition():
            return _meets_condition(tree, fields)


def _meets_condition(condition: Condition, fields: Mapping[str, object]) -> bool:
    metadata = fields.get(METADATA)
    source = (metadata if isinstance(metadata, Mapping) else {}) if condition.of_metadata else fields
    value = source.get(condition.name)
    if condition.operator is Operator.EXISTS:
        return (value is not None) is condition.values[0]
    actual = _comparable(condition.name, value)
    expected = [_comparable(condition.name, operand) for operand in condition.values]
    if condition.operator in COMPARISONS:
        return (
            actual is not None
            and type(actual) is type(expected[0])
            and _COMPARED[condition.operator](actual, expected[0])
        )
    equal = actual is not None and any(type(actual) is type(operand) and actual == operand for operand in expected)
    return equal is (condition.operator is Operator.IN)


def _comparable(name: str, value: object) -> Comparable | None:
    """Return a value in its comparable form; None for a missing value, a list or an object."""
    if isinstance(value, Sensitivity):
        return Decimal(int(value))
    if isinstance(value, str | UUID):
        if name == "sensitivity":
            return Decimal(int(Sensitivity.parse(str(value))))
        return str(UUID(str(value))) if name == "document_id" else str(value)
    if isinstance(value, bool | datetime):
        return value
    # numbers compare as written in JSON: 10**23 is 1e23
    return Decimal(repr(value)) if isinstance(value, int | float) else None
