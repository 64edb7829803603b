"""Bounds the text of a file passage: generated files can have very long lines."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragcorp.domain.files.values import Mark

MAX_CHARACTERS = 20_000
LEAD = 200
"""Characters kept before the first mark of a cut line."""

MAX_LINE_TEXTS = 20
"""Matched lines that identify a passage."""
MAX_LINE_TEXT = 300
_BEFORE = 100


class BoundedText(NamedTuple):
    """Lines from ``line_start`` on, with their marks."""

    line_start: int
    line_end: int
    text: str
    marks: tuple[Mark, ...]


def bounded(text: str, *, line_start: int, marks: Sequence[Mark], limit: int = MAX_CHARACTERS) -> BoundedText | None:
    """Return at most ``limit`` characters of a passage: whole lines around its first mark; None without a mark.

    Marks outside the text are dropped: the file has changed. A line longer than the limit is cut around its first
    mark, and its marks are shifted.
    """
    lines = text.split("\n")
    clipped = [
        mark._replace(end=min(mark.end, len(lines[mark.line - line_start])))
        for mark in marks
        if 0 <= mark.line - line_start < len(lines)
    ]
    kept = sorted(mark for mark in clipped if mark.start < mark.end)
    if not kept:
        return None
    first = last = kept[0].line - line_start
    if len(lines[first]) > limit:
        return _part_of_line(lines[first], kept, limit=limit)
    left = limit - len(lines[first])
    for number in _outwards(first, kept[-1].line - line_start, len(lines)):
        left -= len(lines[number]) + 1
        if left < 0:
            break
        first, last = min(first, number), max(last, number)
    start, end = line_start + first, line_start + last
    return BoundedText(
        start, end, "\n".join(lines[first : last + 1]), tuple(mark for mark in kept if start <= mark.line <= end)
    )


def _outwards(first: int, last: int, count: int) -> Iterator[int]:
    """Yield the other lines by priority: down to the last match, then alternating before and after."""
    yield from range(first + 1, last + 1)
    for distance in range(1, count):
        if first - distance >= 0:
            yield first - distance
        if last + distance < count:
            yield last + distance


def _part_of_line(line: str, marks: Sequence[Mark], *, limit: int) -> BoundedText:
    number = marks[0].line
    start = max(0, marks[0].start - min(LEAD, limit // 2))
    part = line[start : start + limit]
    shifted = [
        mark._replace(start=mark.start - start, end=min(mark.end - start, len(part)))
        for mark in marks
        if mark.line == number and mark.start - start < len(part)
    ]
    return BoundedText(number, number, part, tuple(shifted))


def text_around(line: str, mark: Mark, *, limit: int = MAX_LINE_TEXT) -> str:
    """Return the stripped line, up to a carriage return; if longer than ``limit``, whole words around the mark."""
    end = line.find("\r", mark.end)
    first, last = line.rfind("\r", 0, mark.start) + 1, len(line) if end < 0 else end
    if last - first > limit:
        begin = max(first, mark.start - _BEFORE)
        stop = min(last, begin + limit)
        whole_from, whole_to = line.find(" ", begin, mark.start), line.rfind(" ", mark.end, stop)
        first = whole_from if begin > first and whole_from >= 0 else begin
        last = whole_to if stop < last and whole_to >= 0 else stop
    return line[first:last].strip(" \t")
