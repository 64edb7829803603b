"""Parses callers' values into the domain's; shared by library, CLI and HTTP."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TypeVar

from ragcorp.application.validation.attribute_checks import require_text
from ragcorp.domain.collections import GRAPH, Collection
from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import (
    COLLECTION,
    MAX_FILTER_CONDITIONS,
    MAX_FILTER_DEPTH,
    MOST_FILTER_CONDITIONS,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Filters,
    FilterValue,
    Not,
    Operator,
    require_filters,
    too_deep,
)
from ragcorp.domain.moments import written_moment
from ragcorp.domain.text.checks import require_utf8

OPERATORS = "$eq, $ne, $in, $nin, $gt, $gte, $lt, $lte, $exists, $and, $or, $not"

BY_SIGN: Mapping[object, Operator] = {
    **{f"${operator}": operator for operator in Operator},
    "$eq": Operator.IN,
    "$ne": Operator.NOT_IN,
}

TEXT_SUFFIXES = {".txt": "text/plain", ".text": "text/plain", ".html": "text/html", ".htm": "text/html"}


def text_file(external_id: str, text: str, *, media_type: str | None = None) -> SourceFile:
    """Return text as a file without a name: it stays text, also under the id ``contrato.pdf``.

    Raises InvalidInputError for a lone surrogate, and UnreadableDocumentError for a blank text.
    """
    require_utf8(text, field="text")
    # PostgreSQL stores no NUL; words stay apart
    text = text.replace("\x00", " ")
    require_text(text)
    suffix = PurePosixPath(external_id).suffix.lower()
    return SourceFile.of_text(text, media_type=media_type or TEXT_SUFFIXES.get(suffix, "text/markdown"))


Choice = TypeVar("Choice", bound=StrEnum)


def choice(kind: type[Choice], value: str, *, field: str) -> Choice:
    """Return the member of ``kind`` called ``value``. Raises InvalidInputError."""
    try:
        return kind(value)
    except ValueError:
        raise InvalidInputError(
            f"{field} is not a known one.", field=field, limit=", ".join(kind), remedy="Use one of the listed names."
        ) from None


def parse_filters(filters: Mapping[str, object] | None, *, conditions: int = MOST_FILTER_CONDITIONS) -> Filters:
    """Return the filters of an object such as ``{"language": "es", "year": {"$gte": 2025}}``; all must match.

    A member is a field or metadata key with a value, a list of values (any of them) or an object of operators; or it is
    ``$and`` or ``$or`` with a list of objects, or ``$not`` with one. ``occurred_at`` also takes ``gte`` and ``lt``; its
    times are ISO 8601, in UTC without a zone. Raises InvalidInputError.
    """
    parsed = () if filters is None else tuple(_members(filters, depth=0))
    require_filters(parsed, conditions=conditions)
    return parsed


def parse_selection(filters: Mapping[str, object] | None, *, conditions: int = MAX_FILTER_CONDITIONS) -> Filters:
    """Return the filters of ``parse_filters`` for stored data, with its fixed collections. Raises InvalidInputError."""
    parsed = parse_filters(filters, conditions=conditions)
    collections = (*Collection, GRAPH)
    named = {
        value for condition in _conditions_in(parsed) if condition.name == COLLECTION for value in condition.values
    }
    if not named <= {*collections, True, False}:
        raise InvalidInputError(
            "There is no such collection.",
            field=f"filters.{COLLECTION}",
            limit=", ".join(collections),
            remedy="Use one of the listed names.",
        )
    return parsed


def _conditions_in(filters: Iterable[Filter]) -> Iterator[Condition]:
    for part in filters:
        match part:
            case Condition():
                yield part
            case Not():
                yield from _conditions_in([part.part])
            case AllOf() | AnyOf():
                yield from _conditions_in(part.parts)


def _members(filters: object, *, depth: int) -> Iterator[Filter]:
    if depth > MAX_FILTER_DEPTH:
        raise too_deep()
    if not isinstance(filters, Mapping) or (depth and not filters):
        raise InvalidInputError(
            "A part of filters is not an object, or is empty." if depth else "filters is not an object.",
            field="filters",
            limit="an object of names and values",
            remedy='Write it as {"language": "es"}.',
        )
    for name, value in filters.items():
        match name:
            case "$and":
                for part in _list(value):
                    yield from _members(part, depth=depth + 1)
            case "$or":
                yield AnyOf(parts=tuple(_joined(_members(part, depth=depth + 1)) for part in _list(value)))
            case "$not":
                yield Not(part=_joined(_members(value, depth=depth + 1)))
            case str() if not name.startswith("$"):
                yield from _conditions(name, value, depth=depth)
            case _:
                raise _unknown_operator()


def _conditions(name: str, value: object, *, depth: int) -> Iterator[Filter]:
    if isinstance(value, list | tuple):
        yield Condition(name=name, values=tuple(_value(name, item) for item in value))
        return
    if not isinstance(value, Mapping):
        yield Condition(name=name, values=(_value(name, value),))
        return
    if depth > MAX_FILTER_DEPTH:
        raise too_deep()
    if not value:
        raise InvalidInputError(
            "An object of operators is empty.", field="filters", limit=OPERATORS, remedy="Give at least one operator."
        )
    for written, operand in value.items():
        if written == "$not":
            yield Not(part=_joined(_conditions(name, _operators(operand), depth=depth + 1)))
        else:
            yield _compared(name, written, operand)


def _compared(name: str, written: object, operand: object) -> Condition:
    # occurred_at took gte and lt before there were operators
    name_of_operator = f"${written}" if name == "occurred_at" and written in ("gte", "lt") else written
    operator = BY_SIGN.get(name_of_operator)
    if operator is None:
        raise _unknown_operator()
    values = _list(operand) if name_of_operator in ("$in", "$nin") else [operand]
    return Condition(name=name, operator=operator, values=tuple(_value(name, item) for item in values))


def _joined(parts: Iterable[Filter]) -> Filter:
    joined = tuple(parts)
    return joined[0] if len(joined) == 1 else AllOf(parts=joined)


def _operators(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    raise InvalidInputError(
        "$not of a field takes an object of operators.",
        field="filters",
        limit=OPERATORS,
        remedy='Write it as {"$not": {"$gt": 5}}, or use $ne.',
    )


def _list(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple) and value:
        return value
    raise InvalidInputError(
        "An operator that takes a list has none, or an empty one.",
        field="filters",
        limit="a list of at least 1",
        remedy="$and and $or take a list of objects, $in and $nin a list of values.",
    )


def _value(name: str, value: object) -> FilterValue:
    if name == "occurred_at" and isinstance(value, str | datetime):
        return _moment(value)
    if isinstance(value, str | bool | int | float):
        return value
    raise InvalidInputError(
        "A filter's value must be text, a number, true or false, or a list of these.",
        field="filters",
        remedy="Use a scalar or a list of scalars; null is found by $exists.",
    )


def _unknown_operator() -> InvalidInputError:
    return InvalidInputError(
        "This is no operator of filters; or a field's operators are mixed with names.",
        field="filters",
        limit=f"{OPERATORS}; of occurred_at also gte, lt",
        remedy='Write operators as in {"year": {"$gte": 2025}}; a name that starts with $ is no field.',
    )


def _moment(value: str | datetime) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else written_moment(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            "A range's bound is not an ISO 8601 time.",
            field="filters.occurred_at",
            limit="an ISO 8601 time",
            remedy="Write it as 2026-03-31T00:00:00Z.",
        ) from None
