"""From the cells of a sheet to Markdown: the lines above a table, its headings, its rows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ragcorp.infrastructure.parsing.kinds.markdown import paragraph, table

_WORDS = re.compile(r"[^\W\d]")
_NUMBER = re.compile(r"[-+(]?[\d.,]+(?:\W|$)")
_MOST_REPEATED = 200
_MOST_HEADINGS = 4
_MOST_SPREAD = 200

Row = list[str]


class Merged(NamedTuple):
    """A range of merged cells, from 0, ends included."""

    top: int
    left: int
    bottom: int
    right: int


def sheet_section(name: str, rows: Iterable[Sequence[str]], merged: Sequence[Merged] = ()) -> str:
    return "\n\n".join([f"## {name}", *sheet_blocks(rows, merged)])


def sheet_blocks(rows: Iterable[Sequence[str]], merged: Sequence[Merged] = ()) -> Iterator[str]:
    """Yield the tables and the lines above them.

    A value that is merged over several rows stands in each. A blank row ends a table where headings follow it.
    """
    blank: Row = []
    cells = [list(row) if any(row) else blank for row in rows]
    for area in merged:
        _repeat_down(cells, area)
    wide = {area.top for area in merged if area.right > area.left}
    parts = list(_tables(cells))
    for part in parts:
        leftmost = min(next(place for place, cell in enumerate(cells[row]) if cell) for row in part)
        titles = list(_leading(part, cells, leftmost))
        if len(titles) == len(part):
            titles = titles if len(parts) > 1 else []
        body = part[len(titles) :]
        yield from (paragraph(cells[row][leftmost]) for row in titles)
        if not body:
            continue
        depth = _heading_rows(body, cells, wide)
        spread = [_spread(cells[row], [area for area in merged if area.top == row]) for row in body[:depth]]
        yield table([*_one_heading(spread), *(cells[row] for row in body[depth:])])


def _tables(cells: Sequence[Row]) -> Iterator[list[int]]:
    """Yield the numbers of the rows of each table."""
    table_rows: list[int] = []
    for is_filled, group in groupby(range(len(cells)), key=lambda row: any(cells[row])):
        rows = list(group)
        if is_filled and table_rows and _begins_with_headings(rows, cells):
            yield table_rows
            table_rows = []
        table_rows += rows if is_filled else []
    if table_rows:
        yield table_rows


def _begins_with_headings(rows: Sequence[int], cells: Sequence[Row]) -> bool:
    for place, row in enumerate(rows):
        filled = [cell for cell in cells[row] if cell]
        if len(filled) > 1:
            return place + 1 < len(rows) and all(_WORDS.search(cell) and not _NUMBER.match(cell) for cell in filled)
    return False


def _leading(rows: Sequence[int], cells: Sequence[Row], leftmost: int) -> Iterator[int]:
    """Yield the rows above a table that have but one cell, at its left edge: titles and remarks."""
    for row in rows:
        if [place for place, cell in enumerate(cells[row]) if cell] != [leftmost]:
            return
        yield row


def _heading_rows(rows: Sequence[int], cells: Sequence[Row], wide: set[int]) -> int:
    """Return how many rows the headings take: one more for each that is merged over several columns."""
    depth = 1
    while depth < min(len(rows) - 1, _MOST_HEADINGS) and rows[depth - 1] in wide:
        if any(_NUMBER.match(cell) for cell in cells[rows[depth]] if cell):
            break
        depth += 1
    return depth


def _spread(row: Row, areas: Sequence[Merged]) -> Row:
    spread = list(row)
    for area in areas:
        if area.left < len(row) and area.right - area.left < _MOST_SPREAD:
            spread += [""] * (area.right + 1 - len(spread))
            spread[area.left : area.right + 1] = [row[area.left]] * (area.right + 1 - area.left)
    return spread


def _one_heading(rows: Sequence[Row]) -> list[Row]:
    width = max(map(len, rows), default=0)
    columns = [dict.fromkeys(row[place] for row in rows if place < len(row) and row[place]) for place in range(width)]
    return [[" ".join(column) for column in columns]] if rows else []


def _repeat_down(cells: list[Row], area: Merged) -> None:
    top = cells[area.top] if area.top < len(cells) else []
    if area.left >= len(top) or not 0 < len(top[area.left]) <= _MOST_REPEATED:
        return
    for row in cells[area.top + 1 : area.bottom + 1]:
        if area.left < len(row) and not row[area.left]:
            row[area.left] = top[area.left]
