"""Where a passage stands in its document's text, and what the text is without it, with another, or with one more. Pure.

A slice is ``[start, end)`` in characters.
"""

from __future__ import annotations

import re

from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import ConflictError

BLANK_LINE = "\n\n"

Slice = tuple[int, int]

_BLANK = re.compile(r"\A\s*\n")
"""Blank lines, and the end of a line, but not the indentation of the next one."""


def slice_of(chunk: Chunk, text: str) -> Slice:
    """Return where the passage stands: the one place where its text starts in the line ``line_start``.

    Raises ConflictError where there is no such place, or more than one: a passage that starts inside a table repeats
    the table's header, which stands elsewhere.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if chunk.line_start <= len(starts):
        low = starts[chunk.line_start - 1]
        high = starts[chunk.line_start] if chunk.line_start < len(starts) else len(text)
        first = text.find(chunk.content, low)
        if low <= first < high:
            again = text.find(chunk.content, first + 1)
            if again < 0 or again >= high:
                return first, first + len(chunk.content)
    raise ConflictError(
        "The passage does not stand in its artifact's text exactly once, at its line.",
        field="text",
        remedy="Write the artifact's whole text.",
    )


def replaced(text: str, place: Slice, content: str) -> tuple[str, Slice]:
    """Return the text with other content in the slice, and where that stands."""
    start, end = place
    return text[:start] + content + text[end:], (start, start + len(content))


def removed(text: str, place: Slice) -> str:
    """Return the text without the slice, and without the blank lines that parted it from what follows."""
    start, end = place
    before, after = text[:start], text[end:]
    return before + (_BLANK.sub("", after) if not before or before.endswith("\n") else after)


def inserted(text: str, after: int, content: str) -> tuple[str, Slice]:
    """Return the text with a passage after that offset, parted by blank lines, and where it stands."""
    before, rest = text[:after].rstrip(), _BLANK.sub("", text[after:])
    head = before + BLANK_LINE if before else ""
    tail = BLANK_LINE + rest if rest.strip() else "\n"
    return head + content + tail, (len(head), len(head) + len(content))


def lines_of(text: str, place: Slice) -> tuple[int, int]:
    """Return the first and the last line (1-based) of a slice that is not empty."""
    start, end = place
    return text.count("\n", 0, start) + 1, text.count("\n", 0, max(start, end - 1)) + 1
