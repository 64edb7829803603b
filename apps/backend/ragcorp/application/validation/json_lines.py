"""JSON Lines: reads a line as an object that every parser reads alike. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from ragcorp.domain.exceptions import InvalidInputError, PayloadTooLargeError, RagcorpError
from ragcorp.domain.text import strict_json

MAX_LINE_BYTES = 1024 * 1024
BATCH_LINES = 500
_MARK = b"\xef\xbb\xbf"


LinesDone = Callable[[int], None]
"""Receives the number of lines that are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFailure:
    """A line, counted from 1, that was not stored, with its error."""

    line: int
    error: RagcorpError


def read_object(line: bytes) -> dict[str, object]:
    """Return the object. Raises InvalidInputError for any other line, a duplicate name and NaN."""
    if len(line) > MAX_LINE_BYTES:
        raise PayloadTooLargeError(
            "The line is too long.", field="line", limit=f"{MAX_LINE_BYTES} bytes", remedy="Send a shorter text."
        )
    try:
        value = strict_json.parse(line.removeprefix(_MARK))
    except strict_json.DuplicateNameError:
        raise InvalidInputError(
            "The line names a member twice in one object.", field="line", remedy="Name each member once."
        ) from None
    except strict_json.LongNumberError:
        raise InvalidInputError(
            "The line holds a number that is too long.",
            field="line",
            limit=f"{strict_json.MAX_DIGITS} digits",
            remedy="Write it as a text.",
        ) from None
    except ValueError:
        raise _no_object() from None
    if not isinstance(value, dict):
        raise _no_object()
    return value


def _no_object() -> InvalidInputError:
    return InvalidInputError(
        "The line is not a JSON object.", field="line", remedy="Write one JSON object (RFC 8259) a line, in UTF-8."
    )
