"""From pieces of text with their places to the text of a page, in reading order."""

import re
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

_GUTTERS = range(35, 66)
_LEAST_LINES = 6
_LEAST_FILL = 0.6
_MOST_NUMERIC = 0.2
_SAME_LINE = 0.5
_PARAGRAPH = 1.2
"""Gap between lines, in heights of a line, that ends a paragraph."""
_WRAPPED = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zà-ÿ])")
_NUMERIC = re.compile(r"[\d.,/:%€$\s-]+(?:\s*[a-zA-Z]{1,4}\.?)?")


class Piece(NamedTuple):
    """A piece of a line: its box in pixels from the top left, and its text."""

    left: float
    top: float
    right: float
    bottom: float
    text: str

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top


def page_text(pieces: Sequence[Piece], *, width: float) -> str:
    """Return the lines of the page from top to bottom; two columns of prose one after the other."""
    for percent in _GUTTERS:
        columns = _columns(pieces, width * percent / 100)
        if columns:
            return "\n\n".join(filter(None, map(_lines, columns)))
    return _lines(pieces)


def _columns(pieces: Sequence[Piece], gutter: float) -> list[list[Piece]]:
    """Return what is above, left, right and below; none unless both sides are lines of prose."""
    left = [piece for piece in pieces if piece.right <= gutter]
    right = [piece for piece in pieces if piece.left >= gutter]
    if min(len(left), len(right)) < _LEAST_LINES:
        return []
    top = max(min(piece.top for piece in side) for side in (left, right))
    bottom = max(piece.bottom for piece in right)
    across = [piece for piece in pieces if piece.left < gutter < piece.right]
    if any(top < piece.middle < bottom for piece in across):
        return []
    tallest = max(piece.height for piece in pieces)
    above = [piece for piece in pieces if piece.middle < top - tallest / 2]
    below = [piece for piece in across if piece.middle >= bottom]
    last = min((piece.top for piece in below), default=float("inf"))
    below += [piece for piece in left if piece.middle > last]
    inside = [piece for piece in (*left, *right) if piece not in above and piece not in below]
    sides = [[piece for piece in inside if piece.right <= gutter], [piece for piece in inside if piece.left >= gutter]]
    return [above, *sides, below] if all(map(_is_prose, sides)) else []


def _is_prose(side: Sequence[Piece]) -> bool:
    """Tell a column from one of a table: its lines are full, and hardly any is a number."""
    if len(side) < _LEAST_LINES:
        return False
    span = max(piece.right for piece in side) - min(piece.left for piece in side)
    fill = median(piece.right - piece.left for piece in side) / span
    numeric = sum(bool(_NUMERIC.fullmatch(piece.text)) for piece in side) / len(side)
    return fill >= _LEAST_FILL and numeric <= _MOST_NUMERIC


def _lines(pieces: Sequence[Piece]) -> str:
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (piece.middle, piece.left)):
        if rows and _on_line(piece, rows[-1]):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    text = ""
    for number, row in enumerate(rows):
        if number:
            gap = min(piece.top for piece in row) - max(piece.bottom for piece in rows[number - 1])
            text += "\n\n" if gap > _PARAGRAPH * median(piece.height for piece in row) else "\n"
        text += " ".join(piece.text for piece in sorted(row, key=lambda piece: piece.left))
    return _WRAPPED.sub("", text)


def _on_line(piece: Piece, row: Sequence[Piece]) -> bool:
    last = row[-1]
    apart = all(piece.left >= other.right or piece.right <= other.left for other in row)
    return apart and piece.middle - last.middle < _SAME_LINE * min(piece.height, last.height)
