"""The reading order of PDF pages that are set in two columns but drawn line by line."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ragcorp.infrastructure.parsing.kinds.pdf_tables import Box

_MIN_LINES = 15
_MOST_LEADING = 2.5
_FULL = 0.8
_MIN_INTERLEAVED = 0.6
_MIDDLE = range(40, 63)
_MIN_RUNNING = 0.15
_MANY_LINES = 25
_MIN_EVEN = 0.9
_MIN_TOGETHER = 0.8


def in_columns(boxes: Sequence[Box], page: Any, text_page: Any) -> str | None:
    """Return the text of a page whose two columns PDFium reads line by line, column after column."""
    if len(boxes) < 2 * _MIN_LINES:
        return None
    width = page.get_width()
    for percent in _MIDDLE:
        gutter = width * percent / 100
        columns = _columns(boxes, gutter)
        if columns is not None and _are_columns(boxes, columns, gutter, text_page):
            spans = [
                (0.0, columns.top + 1, width, page.get_height()),
                (0.0, columns.bottom, gutter, columns.top),
                (gutter, columns.bottom, width, columns.top),
                (0.0, 0.0, width, columns.bottom - 1),
            ]
            text = "\n".join(text_page.get_text_bounded(*span).strip() for span in spans)
            return text if _same_letters(text, text_page.get_text_range()) else None
    return None


def _same_letters(text: str, other: str) -> bool:
    """Return whether no letter is lost or doubled at the edges of the columns."""
    return Counter("".join(text.split())) == Counter("".join(other.split()))


def _columns(boxes: Sequence[Box], gutter: float) -> Box | None:
    """Return the bounds of two columns that no line between them crosses, and whose lines are drawn in turns."""
    sides = [-1 if box.right <= gutter else 1 if box.left >= gutter else 0 for box in boxes]
    right = [box for box, side in zip(boxes, sides, strict=True) if side == 1]
    if min(sides.count(-1), len(right)) < _MIN_LINES:
        return None
    bounds = Box(0, min(box.bottom for box in right), 0, max(box.top for box in right))
    for box in sorted((box for box in boxes if box.right <= gutter), key=lambda box: -box.top):
        if 0 < bounds.bottom - box.bottom < _MOST_LEADING * (box.top - box.bottom):
            bounds = bounds._replace(bottom=box.bottom)
    if any(
        not side and box.top > bounds.bottom and box.bottom < bounds.top for box, side in zip(boxes, sides, strict=True)
    ):
        return None
    turns = sum(1 for before, after in pairwise(sides) if (before, after) == (-1, 1))
    return bounds if turns >= _MIN_INTERLEAVED * len(right) else None


def _are_columns(boxes: Sequence[Box], columns: Box, gutter: float, text_page: Any) -> bool:
    """Tell columns from a table of two: one line a row on each side, which both run on or are all of one length."""
    within = [box for box in boxes if columns.bottom <= box.bottom and box.top <= columns.top]
    halves = [[box for box in within if box.right <= gutter], [box for box in within if box.left >= gutter]]
    if any(len(half) < _MIN_LINES or len(half) > 1.2 * len({round(box.bottom) for box in half}) for half in halves):
        return False
    columns_of_lines = [
        [(box, text_page.get_text_bounded(*box).strip()) for box in sorted(half, key=lambda box: -box.top)]
        for half in halves
    ]
    runs_on = all(map(_runs_on, columns_of_lines)) and not _begin_together(*columns_of_lines)
    return runs_on or all(map(_is_even, columns_of_lines))


def _runs_on(lines: Sequence[tuple[Box, str]]) -> bool:
    """Return whether lines fill their column and go on in lower case, with other words than those before."""
    span = max(box.right for box, _ in lines) - min(box.left for box, _ in lines)
    full = [box.right - box.left >= _FULL * span for box, _ in lines]
    going_on = {
        text.split()[0] for is_full, (_, text) in zip(full, lines[1:], strict=False) if is_full and text[:1].islower()
    }
    return sum(full) >= len(full) / 2 and len(going_on) >= _MIN_RUNNING * len(lines)


def _begin_together(left: Sequence[tuple[Box, str]], right: Sequence[tuple[Box, str]]) -> bool:
    """Return whether what begins on one side begins beside it on the other, as the cells of a row do."""
    begun = [{round(box.bottom) for box, text in lines if not text[:1].islower()} for lines in (left, right)]
    return len(begun[0] & begun[1]) >= max(3, _MIN_TOGETHER * max(map(len, begun)))


def _is_even(lines: Sequence[tuple[Box, str]]) -> bool:
    """Return whether there are many lines of words with as many letters as the longest; entries of a table differ."""
    letters = sorted(sum(map(str.isalpha, text)) for _, text in lines)
    words = sum(letters) >= sum(len(text) for _, text in lines) / 2
    return words and len(lines) >= _MANY_LINES and letters[len(lines) // 10] >= _MIN_EVEN * letters[-1]
