"""Values of a filter: one tree of conditions for every source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.text.checks import require_storable

METADATA = "metadata"
"""Placeholder among field names for all metadata keys: every name that is not a field."""

COLLECTION = "collection"

_EVERYWHERE = frozenset(
    {"external_id", "language", "artifact_type", "sensitivity", "visibility_scope", "owner", "occurred_at", COLLECTION}
)
DOCUMENT_FIELDS = _EVERYWHERE | {"document_id", METADATA}
ITEM_FIELDS = _EVERYWHERE | {"session", "speaker", METADATA}
FACT_FIELDS = _EVERYWHERE | {"document_id", METADATA}
"""Filter fields of documents and chunks, of memory and history items, and of graph facts."""

FILTER_FIELDS = (DOCUMENT_FIELDS | ITEM_FIELDS) - {METADATA}
"""Field names; any other name is a metadata key."""

MAX_FILTER_CONDITIONS = 20
MOST_FILTER_CONDITIONS = 200
"""The default limit of conditions in a filter, and the largest value of that setting."""

MAX_FILTER_DEPTH = 5
MAX_FILTER_VALUES = 100
MAX_FILTER_NAME = 200

FilterValue = str | int | float | bool | datetime


class Operator(StrEnum):
    """``in`` and ``nin`` take one or more values, a comparison takes one, ``exists`` takes true or false."""

    IN = "in"
    NOT_IN = "nin"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    EXISTS = "exists"


COMPARISONS = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on one field. It is true or false, never unknown.

    For a missing value only ``nin`` and ``exists`` false are true; a metadata value of null counts as missing.
    Metadata values equal and compare only to values of the same JSON type (number, text, boolean); texts compare
    by code point. ``sensitivity`` compares by level and ``occurred_at`` by time; other fields take no comparison.
    Raises InvalidInputError.
    """

    name: str
    operator: Operator = Operator.IN
    values: tuple[FilterValue, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 1 <= len(self.name) <= MAX_FILTER_NAME:
            raise InvalidInputError(
                f"A filter's name must have 1 to {MAX_FILTER_NAME} characters.",
                field="filters",
                limit=f"{MAX_FILTER_NAME} characters",
                remedy="Name a field or a metadata key.",
            )
        require_storable(self.name, field="filters")
        _require_number_of_values(self)
        if self.operator is Operator.EXISTS:
            return
        for value in self.values:
            _require_value(self, value)

    @property
    def of_metadata(self) -> bool:
        return self.name not in FILTER_FIELDS


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """True if every part is true. Raises InvalidInputError."""

    parts: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _require_parts(self, self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """True if at least one part is true. Raises InvalidInputError."""

    parts: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _require_parts(self, self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """True if the part is false, also for a missing value. Raises InvalidInputError."""

    part: Filter

    def __post_init__(self) -> None:
        _require_parts(self, (self.part,))


Filter: TypeAlias = Condition | AllOf | AnyOf | Not
Filters: TypeAlias = tuple[Filter, ...]
"""All conditions must be true."""


def require_filters(filters: Filters, *, conditions: int = MOST_FILTER_CONDITIONS) -> None:
    """Raise InvalidInputError for too many conditions or too deep a tree."""
    if not isinstance(filters, tuple) or not all(isinstance(part, Filter) for part in filters):
        raise InvalidInputError(
            "filters are not made of conditions.",
            field="filters",
            limit="a tuple of Condition, AllOf, AnyOf, Not",
            remedy="Give such conditions.",
        )
    if sum(_size(part) for part in filters) > conditions:
        raise InvalidInputError(
            "There are too many filters.",
            field="filters",
            limit=f"{conditions} conditions",
            remedy="Use fewer conditions; one condition takes a list of values.",
        )
    if max((_depth(part) for part in filters), default=0) > MAX_FILTER_DEPTH:
        raise too_deep()


def too_deep() -> InvalidInputError:
    return InvalidInputError(
        "The filters are nested too deeply.",
        field="filters",
        limit=f"{MAX_FILTER_DEPTH} levels of $and, $or and $not",
        remedy="Write a flatter condition.",
    )


def fields_of(filters: Iterable[Filter]) -> frozenset[str]:
    """Return the field names that the filters use; ``METADATA`` for any metadata key."""
    names: set[str] = set()
    for part in filters:
        if isinstance(part, Condition):
            names.add(METADATA if part.of_metadata else part.name)
        else:
            names |= fields_of(_parts(part))
    return frozenset(names)


def narrowed_to(filters: Filters, collection: str) -> Filters | None:
    """Return the filters with conditions on the collection resolved; None if no item of it can pass."""
    decided = [_decided(part, collection) for part in filters]
    if any(part is False for part in decided):
        return None
    return tuple(part for part in decided if not isinstance(part, bool))


def _parts(tree: AllOf | AnyOf | Not) -> tuple[Filter, ...]:
    return (tree.part,) if isinstance(tree, Not) else tree.parts


def _size(tree: Filter) -> int:
    return 1 if isinstance(tree, Condition) else sum(_size(part) for part in _parts(tree))


def _depth(tree: Filter) -> int:
    return 0 if isinstance(tree, Condition) else 1 + max(_depth(part) for part in _parts(tree))


def _require_parts(tree: AllOf | AnyOf | Not, parts: tuple[Filter, ...]) -> None:
    """Check the tree at every node, so that no tree is too deep for recursion."""
    if not isinstance(parts, tuple) or not parts or not all(isinstance(part, Filter) for part in parts):
        raise InvalidInputError(
            "$and, $or and $not need at least one condition.",
            field="filters",
            limit="at least 1 condition",
            remedy="Give a condition, or leave it out.",
        )
    require_filters((tree,))


def _decided(tree: Filter, collection: str) -> Filter | bool:
    match tree:
        case Condition(name="collection"):
            return _matches_collection(tree, collection)
        case Condition():
            return tree
        case Not():
            part = _decided(tree.part, collection)
            return not part if isinstance(part, bool) else Not(part=part)
        case AllOf():
            return _joined(AllOf, [_decided(part, collection) for part in tree.parts], decisive=False)
        case AnyOf():
            return _joined(AnyOf, [_decided(part, collection) for part in tree.parts], decisive=True)


def _matches_collection(condition: Condition, collection: str) -> bool:
    if condition.operator is Operator.EXISTS:
        return condition.values[0] is True
    return (collection in condition.values) == (condition.operator is Operator.IN)


def _joined(kind: type[AllOf | AnyOf], parts: Sequence[Filter | bool], *, decisive: bool) -> Filter | bool:
    """Join parts: one ``decisive`` part decides the whole, the other decided parts change nothing."""
    if any(part is decisive for part in parts):
        return decisive
    rest = tuple(part for part in parts if not isinstance(part, bool))
    if not rest:
        return not decisive
    return rest[0] if len(rest) == 1 else kind(parts=rest)


def _field(name: str) -> str:
    """Return the field name for an error; a metadata key is the caller's text and not echoed."""
    return f"filters.{name}" if name in FILTER_FIELDS else "filters"


def _require_number_of_values(condition: Condition) -> None:
    number = len(condition.values) if isinstance(condition.values, tuple) else 0
    if number > MAX_FILTER_VALUES:
        raise InvalidInputError(
            "A filter lists too many values.",
            field="filters",
            limit=f"{MAX_FILTER_VALUES} values",
            remedy="List fewer values, or filter by another field.",
        )
    if number == 0:
        raise InvalidInputError(
            "A filter needs a value, a list of values, or a range.",
            field=_field(condition.name),
            limit="at least 1 value",
            remedy="Give a value, or a list with at least one value.",
        )
    if condition.operator is Operator.EXISTS and not (number == 1 and isinstance(condition.values[0], bool)):
        raise InvalidInputError(
            "Whether a value exists is true or false.",
            field=_field(condition.name),
            limit="true or false",
            remedy="Give true, or false for what lacks a value.",
        )
    if condition.operator in COMPARISONS and number > 1:
        raise InvalidInputError(
            "A comparison takes one value.", field=_field(condition.name), limit="1 value", remedy="Give one value."
        )


def _require_value(condition: Condition, value: object) -> None:
    name, compares = condition.name, condition.operator in COMPARISONS
    if name == "occurred_at":
        _require_moment(value, compares=compares)
        return
    if compares and not condition.of_metadata and name != "sensitivity":
        raise InvalidInputError(
            f"The filter {name} takes no range.",
            field=_field(name),
            limit="$eq, $ne, $in, $nin, $exists",
            remedy="Give a value or a list of values.",
        )
    if isinstance(value, str):
        require_storable(value, field=_field(name))
        _require_valid(name, value)
    elif not condition.of_metadata:
        raise InvalidInputError(
            f"The filter {name} takes text.", field=_field(name), limit="text", remedy="Give text, or a list of texts."
        )
    else:
        _require_scalar(value, compares=compares)


def _require_moment(value: object, *, compares: bool) -> None:
    if not compares:
        raise InvalidInputError(
            "The filter occurred_at takes a range.",
            field="filters.occurred_at",
            limit="$gt, $gte, $lt, $lte, $exists",
            remedy="Give '$gte' and/or '$lt'.",
        )
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInputError(
            "A bound of occurred_at is not a time with its zone.",
            field="filters.occurred_at",
            limit="an ISO 8601 time",
            remedy="Write it as 2026-03-31T00:00:00Z.",
        )


def _require_valid(name: str, value: str) -> None:
    if name == "sensitivity":
        Sensitivity.parse(value, field="filters.sensitivity")
    elif name == "visibility_scope":
        VisibilityScope.parse(value, field="filters.visibility_scope")
    elif name == "document_id":
        try:
            UUID(value)
        except ValueError:
            raise InvalidInputError(
                "The filter document_id is not a UUID.",
                field="filters.document_id",
                limit="a UUID",
                remedy="Give a document's id.",
            ) from None


def _require_scalar(value: object, *, compares: bool) -> None:
    if not isinstance(value, int | float) or (compares and isinstance(value, bool)):
        raise InvalidInputError(
            "A metadata filter compares numbers, or texts."
            if compares
            else "A filter's value must be text, a number, true or false, or a list of these.",
            field="filters",
            limit="text, a number" if compares else "text, a number, true, false",
            remedy="Use such a value; null is found by $exists.",
        )
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise InvalidInputError(
            "A filter's number must be finite.",
            field="filters",
            limit="1.8e308 either way of zero",
            remedy="Give a smaller number.",
        )
