"""Finds a passage in its document's text, and removes, replaces or inserts one. Pure.

A slice is ``[start, end)`` in characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import ConflictError

BLANK_LINE = "\n\n"

Slice = tuple[int, int]

_BLANK = re.compile(r"\A\s*\n")
"""Blank lines, and the end of a line, but not the indentation of the next one."""


def slice_of(chunk: Chunk, text: str) -> Slice:
    """Return the slice of the passage: the only place where its text starts in the line ``line_start``.

    Raises ConflictError unless there is exactly one: a passage that starts inside a table repeats the table's header,
    which is elsewhere.
    """
    return slice_among(chunk, text, position=0, count=1)


def slice_among(chunk: Chunk, text: str, *, position: int, count: int) -> Slice:
    """Return the slice of the passage that is number ``position`` (from 0) of ``count`` equal ones in its first line.

    Raises ConflictError unless that line has exactly ``count`` of them.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if chunk.line_start <= len(starts):
        low = starts[chunk.line_start - 1]
        high = starts[chunk.line_start] if chunk.line_start < len(starts) else len(text)
        places = list(islice(_places(chunk.content, text, low, high), count + 1))
        if len(places) == count:
            return places[position], places[position] + len(chunk.content)
    raise ConflictError(
        "The passage does not stand in its artifact's text exactly once, at its line.",
        field="text",
        remedy="Write the artifact's whole text.",
    )


def _places(content: str, text: str, low: int, high: int) -> Iterator[int]:
    """Yield where ``content`` starts from ``low`` on, before ``high``; one may overlap the next."""
    place = text.find(content, low)
    while low <= place < high:
        yield place
        place = text.find(content, place + 1)


def replaced(text: str, place: Slice, content: str) -> tuple[str, Slice]:
    """Return the text with the slice replaced, and the new slice."""
    start, end = place
    return text[:start] + content + text[end:], (start, start + len(content))


def removed(text: str, place: Slice) -> str:
    """Return the text without the slice, and without the blank lines that parted it from what follows."""
    start, end = place
    before, after = text[:start], text[end:]
    return before + (_BLANK.sub("", after) if not before or before.endswith("\n") else after)


def inserted(text: str, after: int, content: str) -> tuple[str, Slice]:
    """Return the text with a passage inserted after the offset, between blank lines, and its slice."""
    before, rest = text[:after].rstrip(), _BLANK.sub("", text[after:])
    head = before + BLANK_LINE if before else ""
    tail = BLANK_LINE + rest if rest.strip() else "\n"
    return head + content + tail, (len(head), len(head) + len(content))


def lines_of(text: str, place: Slice) -> tuple[int, int]:
    """Return the first and the last line (1-based) of a slice that is not empty."""
    start, end = place
    return text.count("\n", 0, start) + 1, text.count("\n", 0, max(start, end - 1)) + 1
