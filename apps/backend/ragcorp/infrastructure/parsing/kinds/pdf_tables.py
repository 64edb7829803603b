"""Tables on the pages of a PDF: with ruled cells, or with columns that are aligned and numbers in one of them."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ragcorp.infrastructure.parsing.kinds.markdown import table

_SLACK = 3.0
_MOST_RULES = 3_000
_LEAST_GAP = 6.0
"""Points between two columns without a rule."""
_LEAST_ROWS = 3
_LEAST_FILLED = 0.6
_LEAST_ALIGNED = 0.8
_LEAST_NUMERIC = 0.6
_MOST_LEADING = 3.0
_MOST_CROWDED = 0.1
_MOST_HEADING = 80
_SIGNS = re.compile(r"[\s\x02\u00ad\ufffe]+")
_MARKED_BREAK = re.compile("([\x02\u00ad\ufffe]) ")
_NUMERIC = re.compile(r"[-+(]?[\d.,:/%€$\s]*\d[\d.,:/%€$)\s]*(?:[a-zA-Z€%]{1,3})?")
_WORDS = re.compile(r"[^\W\d]")

Cells = list[list[str]]


class Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


class Line(NamedTuple):
    """A line of the page's text and where it is."""

    text: str
    box: Box


class Found(NamedTuple):
    """A table, where it is, and its columns' left edges."""

    box: Box
    columns: tuple[float, ...]
    cells: Cells


class PageTables:
    """Puts tables into the text of one page after another. A table that goes on gets the headings of its first page."""

    def __init__(self) -> None:
        self._last: Found | None = None

    def text(self, lines: Sequence[Line], boxes: Sequence[Box], page: Any, text_page: Any) -> str | None:
        """Return the text with the lines of tables as rows; None without a table that has exactly these words."""
        if sum(1 for before, after in pairwise(boxes) if _on_one_line(before, after)) < 2:
            return None

        @cache
        def text_in(box: Box) -> str:
            return _MARKED_BREAK.sub(r"\1", " ".join(text_page.get_text_bounded(*box).split()))

        pieces: list[str] = []
        position = 0
        tables = sorted([*_ruled(page, boxes, text_in), *_aligned(boxes, text_in)], key=lambda found: -found.box.top)
        for found in tables:
            inside = [number for number, line in enumerate(lines) if _holds(found.box, line.box)]
            if not inside or inside != list(range(inside[0], inside[-1] + 1)) or inside[0] < position:
                continue
            taken = lines[inside[0] : inside[-1] + 1]
            if _letters(line.text for line in taken) != _letters(cell for row in found.cells for cell in row):
                continue
            cells = self._with_headings(found)
            if not cells:
                continue
            pieces += [line.text for line in lines[position : inside[0]]]
            pieces += table(cells).split("\n")
            position = inside[-1] + 1
        return "\n".join([*pieces, *(line.text for line in lines[position:])]) if position else None

    def _with_headings(self, found: Found) -> Cells:
        """Return the rows below headings; nothing where the page shows none."""
        last = self._last
        if _is_heading(found.cells[0]):
            self._last = found
            return found.cells
        if last is not None and len(last.columns) == len(found.columns):
            offsets = [abs(one - other) for one, other in zip(last.columns, found.columns, strict=True)]
            if max(offsets) < 2 * _SLACK:
                return [last.cells[0], *found.cells]
        return []


def is_cut(line: Line, boxes: Sequence[Box]) -> bool:
    """Return whether a line has gaps, as the headings of columns have."""
    on_line = sorted(box for box in boxes if _holds(line.box, box))
    return any(after.left > before.right + _LEAST_GAP for before, after in pairwise(on_line))


def _letters(texts: Iterable[str]) -> Counter[str]:
    return Counter(_SIGNS.sub("", "".join(texts)))


def _on_one_line(before: Box, after: Box) -> bool:
    return after.left > before.right and min(before.top, after.top) > max(before.bottom, after.bottom)


def _holds(outer: Box, inner: Box) -> bool:
    middle = (inner.bottom + inner.top) / 2
    return outer.bottom < middle < outer.top and inner.left < outer.right and inner.right > outer.left


def _cell_text(boxes: Sequence[Box], text_in: Callable[[Box], str]) -> str:
    """Return the text of a cell, read as one: a word may be drawn in pieces."""
    if not boxes:
        return ""
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return text_in(Box(min(lefts), min(bottoms), max(rights), max(tops)))


def _has_one_value_a_cell(cells: Cells, least_filled: float) -> bool:
    filled = [cell for row in cells for cell in row if cell]
    several = sum(1 for cell in filled if sum(bool(_NUMERIC.fullmatch(word)) for word in cell.split()) > 2)
    return len(filled) >= least_filled * len(cells) * len(cells[0]) and several <= _MOST_CROWDED * len(filled)


def _is_heading(row: Sequence[str]) -> bool:
    return all(
        len(cell) <= _MOST_HEADING and _WORDS.search(cell) and not _NUMERIC.fullmatch(cell) and not cell.endswith(":")
        for cell in row
        if cell
    )


# ruled


def _ruled(page: Any, boxes: Sequence[Box], text_in: Callable[[Box], str]) -> Iterator[Found]:
    for rules in _connected(_rules(page)):
        xs = _places([x for rule in rules for x in (rule.left, rule.right)])
        ys = _places([y for rule in rules for y in (rule.bottom, rule.top)])
        if len(xs) < 3 or len(ys) < 3:
            continue
        cells: list[list[list[Box]]] = [[[] for _ in xs[1:]] for _ in ys[1:]]
        box = Box(xs[0] - _SLACK, ys[0] - _SLACK, xs[-1] + _SLACK, ys[-1] + _SLACK)
        for place in boxes:
            if _holds(box, place):
                row = bisect_right(ys, (place.bottom + place.top) / 2) - 1
                column = bisect_right(xs, place.left + min(_SLACK, (place.right - place.left) / 2)) - 1
                crosses = column + 1 < len(xs) - 1 and place.right > xs[column + 1] + _SLACK
                if not 0 <= row < len(cells) or not 0 <= column < len(cells[0]):
                    break
                if crosses and sum(_holds(_strip(box, ys, row), other) for other in boxes) > 1:
                    break
                cells[row][column].append(place)
        else:
            rows = [[_cell_text(cell, text_in) for cell in row] for row in reversed(cells)]
            rows = [row for row in rows if any(row)]
            if len(rows) > 1 and _has_one_value_a_cell(rows, _LEAST_FILLED):
                yield Found(box, tuple(xs[:-1]), rows)


def _strip(box: Box, ys: Sequence[float], row: int) -> Box:
    return Box(box.left, ys[row], box.right, ys[row + 1])


def _rules(page: Any) -> list[Box]:
    import pypdfium2.raw

    rules: list[Box] = []
    for item in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_PATH], max_depth=3):
        rules.append(Box(*item.get_bounds()))
        if len(rules) > _MOST_RULES:
            return []
    return [rule for rule in rules if max(rule.right - rule.left, rule.top - rule.bottom) > _SLACK]


def _connected(rules: list[Box]) -> Iterator[list[Box]]:
    """Yield the groups of rules that touch one another from top to bottom."""
    ordered = sorted(rules, key=lambda rule: -rule.top)
    group: list[Box] = []
    lowest = 0.0
    for rule in ordered:
        if group and rule.top < lowest - _SLACK:
            yield group
            group = []
        lowest = min(lowest, rule.bottom) if group else rule.bottom
        group.append(rule)
    if group:
        yield group


def _places(values: list[float]) -> list[float]:
    """Return the values without those that are nearly the same."""
    places: list[float] = []
    for value in sorted(values):
        if not places or value > places[-1] + _SLACK:
            places.append(value)
    return places


# aligned


def _aligned(boxes: Sequence[Box], text_in: Callable[[Box], str]) -> Iterator[Found]:
    for is_wide, group in groupby(_in_rows(boxes), key=lambda row: len(row) > 1):
        for run in _runs(list(group)) if is_wide else ():
            if len(run) < _LEAST_ROWS:
                continue
            within = [box for row in run for box in row]
            columns = _columns(within)
            if len(columns) < 2:
                continue
            places: list[list[list[Box]]] = [[[] for _ in columns] for _ in run]
            for number, row in enumerate(run):
                for box in row:
                    places[number][bisect_right(columns, box.left + 0.1) - 1].append(box)
            cells = [[_cell_text(cell, text_in) for cell in row] for row in places]
            if _is_table(cells):
                left, bottom = min(box.left for box in within), min(box.bottom for box in within)
                right, top = max(box.right for box in within), max(box.top for box in within)
                yield Found(Box(left - 1, bottom - 1, right + 1, top + 1), tuple(columns), cells)


def _in_rows(boxes: Sequence[Box]) -> Iterator[list[Box]]:
    row: list[Box] = []
    for box in boxes:
        if row and not _on_one_line(row[-1], box):
            yield row
            row = []
        row.append(box)
    if row:
        yield row


def _runs(rows: list[list[Box]]) -> Iterator[list[list[Box]]]:
    """Yield rows that follow one another closely from top to bottom."""
    run: list[list[Box]] = []
    for row in rows:
        height = row[0].top - row[0].bottom
        if run and not 0 < run[-1][0].bottom - row[0].bottom < _MOST_LEADING * height:
            yield run
            run = []
        run.append(row)
    yield run


def _columns(boxes: list[Box]) -> list[float]:
    """Return the left edges of the columns, which no box crosses."""
    columns: list[float] = []
    right = 0.0
    for box in sorted(boxes):
        if not columns or box.left > right + _LEAST_GAP:
            columns.append(box.left)
        right = max(right, box.right)
    return columns


def _is_table(cells: Cells) -> bool:
    width = len(cells[0])
    if not all(cells[0]) or not _is_heading(cells[0]) or not _has_one_value_a_cell(cells, _LEAST_ALIGNED):
        return False
    body = cells[1:]
    return any(
        sum(bool(_NUMERIC.fullmatch(row[column])) for row in body) >= _LEAST_NUMERIC * len(body)
        for column in range(1, width)
    )
