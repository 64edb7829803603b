"""JSON Lines: reads lines as objects that every parser reads alike, and reports their outcomes. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import InvalidInputError, PayloadTooLargeError, RagcorpError
from ragcorp.domain.text import strict_json

MAX_LINE_BYTES = 1024 * 1024
BATCH_LINES = 500
_MARK = b"\xef\xbb\xbf"

Entry = TypeVar("Entry")

LinesDone = Callable[[int], None]
"""Receives the number of lines that are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFailure:
    """A line, counted from 1, that was not stored, with its error."""

    line: int
    error: RagcorpError


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """Lines by status, and the failed ones in order; of very many failed turns only the first are named."""

    created: int
    updated: int
    unchanged: int
    failed: int
    failures: tuple[LineFailure, ...]

    @classmethod
    def of(cls, counts: Counter[IngestStatus], failures: Sequence[LineFailure], *, failed: int) -> Self:
        return cls(
            created=counts[IngestStatus.CREATED],
            updated=counts[IngestStatus.UPDATED],
            unchanged=counts[IngestStatus.UNCHANGED],
            failed=failed,
            failures=tuple(failures),
        )

    @property
    def total(self) -> int:
        return self.created + self.updated + self.unchanged + self.failed


def read_lines(
    lines: Iterable[bytes], read: Callable[[dict[str, object]], Entry], *, first: int
) -> tuple[list[tuple[int, Entry]], list[LineFailure]]:
    """Return the entries with their line numbers, which start at ``first``, and the bad lines. Skips blank lines."""
    entries: list[tuple[int, Entry]] = []
    failures: list[LineFailure] = []
    for number, line in enumerate(lines, start=first):
        if not line.strip():
            continue
        try:
            entries.append((number, read(read_object(line))))
        except RagcorpError as error:
            failures.append(LineFailure(line=number, error=error))
    return entries, failures


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
            "The line contains a number that is too long.",
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
