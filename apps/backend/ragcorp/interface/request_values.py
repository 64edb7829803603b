"""Turns what callers write into the domain's values; shared by library, CLI and HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TypeVar

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search import (
    MAX_FILTER_CONDITIONS,
    Condition,
    Filters,
    FilterScalar,
    FusionMethod,
    QuerySyntax,
    SearchMode,
)
from ragcorp.domain.text import require_utf8

TEXT_SUFFIXES = {".txt": "text/plain", ".text": "text/plain", ".html": "text/html", ".htm": "text/html"}


def text_file(external_id: str, text: str, *, media_type: str | None = None) -> SourceFile:
    """Return text as a file. It has no file name: text is text, also under the id ``contrato.pdf``.

    Raises InvalidInputError for a lone surrogate.
    """
    require_utf8(text, field="text")
    suffix = PurePosixPath(external_id).suffix.lower()
    return SourceFile(
        # NUL can stand in no text, and parts words; left in, it would make the text look like another encoding
        content=text.replace("\x00", " ").encode(),
        media_type=media_type or TEXT_SUFFIXES.get(suffix, "text/markdown"),
        filename="",
    )


def parse_mode(mode: str) -> SearchMode:
    """Return the mode called ``mode``. Raises InvalidInputError."""
    return _choice(SearchMode, mode, field="mode")


def parse_method(method: str | None) -> FusionMethod | None:
    """Return the fusion method called ``method``. Raises InvalidInputError."""
    return None if method is None else _choice(FusionMethod, method, field="fusion.method")


def parse_syntax(syntax: str) -> QuerySyntax:
    """Return the query syntax called ``syntax``. Raises InvalidInputError."""
    return _choice(QuerySyntax, syntax, field="syntax")


_Choice = TypeVar("_Choice", bound=StrEnum)


def _choice(kind: type[_Choice], value: str, *, field: str) -> _Choice:
    try:
        return kind(value)
    except ValueError:
        raise InvalidInputError(
            f"{field} is not a known one.",
            field=field,
            limit=", ".join(kind),
            remedy="Use one of the listed names.",
        ) from None


def parse_filters(filters: Mapping[str, object]) -> Filters:
    """Return the filters of an object such as ``{"language": "es", "year": [2025, 2026]}``.

    A value is a scalar, a list of scalars (any of them), or, for ``occurred_at``, ``{"gte": ..., "lt": ...}`` with
    ISO 8601 times (UTC where they name no zone). Names that are no field of documents are metadata keys.
    Raises InvalidInputError.
    """
    if not isinstance(filters, Mapping):
        raise InvalidInputError(
            "filters is not an object.",
            field="filters",
            limit="an object of names and values",
            remedy='Write it as {"language": "es"}.',
        )
    if len(filters) > MAX_FILTER_CONDITIONS:
        raise InvalidInputError(
            "There are too many filters.",
            field="filters",
            limit=f"{MAX_FILTER_CONDITIONS} conditions",
            remedy="Use fewer conditions.",
        )
    return tuple(_condition(name, value) for name, value in filters.items())


def _condition(name: str, value: object) -> Condition:
    if isinstance(value, Mapping):
        if not value or value.keys() - {"gte", "lt"}:
            raise InvalidInputError(
                "A range filter takes 'gte' and 'lt' only.", field="filters", remedy="Give one or both of them."
            )
        return Condition(name=name, gte=_time(value.get("gte")), lt=_time(value.get("lt")))
    values = value if isinstance(value, list | tuple) else [value]
    return Condition(name=name, any_of=tuple(_scalar(item) for item in values))


def _scalar(value: object) -> FilterScalar:
    if isinstance(value, str | bool | int | float):
        return value
    raise InvalidInputError(
        "A filter's value must be text, a number, true or false, or a list of these.",
        field="filters",
        remedy="Use a scalar or a list of scalars.",
    )


def _time(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidInputError(
            "A range's bound is not an ISO 8601 time.", field="filters", remedy="Write it as 2026-03-31T00:00:00Z."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
