"""Reads one line of JSON Lines: an object that every parser reads alike. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NoReturn

from ragcorp.domain.exceptions import InvalidInputError, PayloadTooLargeError

MAX_LINE_BYTES = 1024 * 1024
MAX_DIGITS = 4300
"""Of a whole number: Python reads no longer ones."""
_MARK = b"\xef\xbb\xbf"


class _DuplicateNameError(ValueError):
    pass


class _LongNumberError(ValueError):
    pass


def read_object(line: bytes) -> dict[str, object]:
    """Return the object. Raises InvalidInputError for any other line, for a name twice and for NaN."""
    if len(line) > MAX_LINE_BYTES:
        raise PayloadTooLargeError(
            "The line is too long.", field="line", limit=f"{MAX_LINE_BYTES} bytes", remedy="Send a shorter text."
        )
    try:
        value = json.loads(
            line.removeprefix(_MARK).decode("utf-8"),
            object_pairs_hook=_without_duplicates,
            parse_constant=_not_a_number,
            parse_int=_whole_number,
        )
    except _DuplicateNameError:
        raise InvalidInputError(
            "The line names a member twice in one object.", field="line", remedy="Name each member once."
        ) from None
    except _LongNumberError:
        raise InvalidInputError(
            "The line holds a number that is too long.",
            field="line",
            limit=f"{MAX_DIGITS} digits",
            remedy="Write it as a text.",
        ) from None
    except (ValueError, RecursionError):
        raise _no_object() from None
    if not isinstance(value, dict):
        raise _no_object()
    return value


def _no_object() -> InvalidInputError:
    return InvalidInputError(
        "The line is not a JSON object.", field="line", remedy="Write one JSON object (RFC 8259) a line, in UTF-8."
    )


def _without_duplicates(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _DuplicateNameError
    return members


def _whole_number(digits: str) -> int:
    if len(digits.removeprefix("-")) > MAX_DIGITS:
        raise _LongNumberError
    return int(digits)


def _not_a_number(_: str) -> NoReturn:
    raise ValueError
