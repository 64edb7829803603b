"""Page numbers and running heads and feet of paged documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile

_PAGE_WORD = r"(?:p[áa]gina|p[áa]g\.?|page|p\.|hoja|folio)"
_DASH = "[-\u2013—]"
_TOTAL = r"(?:\s*(?:de|of|/)\s*\d{1,4})?"
_NUMBER_LINE = re.compile(rf"(?:{_PAGE_WORD}\s*)?{_DASH}?\s*(\d{{1,4}})\s*{_DASH}?{_TOTAL}", re.IGNORECASE)
_NUMBER_TAIL = re.compile(
    rf"\s*(?:[|·•\u2013—]\s*(?:{_PAGE_WORD}\s*)?|{_PAGE_WORD}\s+)\d{{1,4}}{_TOTAL}\s*$", re.IGNORECASE
)
_EDGE_LINES = 3
_MIN_REPEATS = 3
_MIN_NUMBERS = 2
_MIN_SHARE = 0.4


def without_furniture(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the lines of each page without page numbers, and with each running head or foot only where it comes first.

    A number is one where it moves with the pages; a head or foot is a line at the edge of at least three pages and
    40 % of them, up to its own page number. Only an unbroken run from the edge inwards is looked at.
    """
    offset = _numbering(pages)
    repeats = Counter(
        key for lines in pages for key in {_key(line) for line in (*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:])}
    )
    least = max(_MIN_REPEATS, _MIN_SHARE * len(pages))
    seen: set[str] = set()

    def first_of(lines: Iterable[str], page: int) -> list[str]:
        fresh: list[str] = []
        for line in lines:
            if not _is_number(line, page, offset) and _key(line) not in seen:
                seen.add(_key(line))
                fresh.append(_NUMBER_TAIL.sub("", line) or line)
        return fresh

    kept: list[list[str]] = []
    for page, lines in enumerate(pages, 1):

        def is_furniture(line: str, page: int = page) -> bool:
            return _is_number(line, page, offset) or repeats[_key(line)] >= least

        top = _run(lines, is_furniture)
        foot = len(lines) - _run(list(reversed(lines[top:])), is_furniture)
        kept.append([*first_of(lines[:top], page), *lines[top:foot], *first_of(lines[foot:], page)])
    return kept


def _numbering(pages: Sequence[Sequence[str]]) -> int | None:
    """Return printed minus physical page number where the first or last lines of the pages show one."""
    offsets = Counter(
        int(found.group(1)) - page
        for page, lines in enumerate(pages, 1)
        for line in {*lines[:1], *lines[-1:]}
        if (found := _NUMBER_LINE.fullmatch(line))
    )
    if not offsets:
        return None
    offset, hits = offsets.most_common(1)[0]
    return offset if hits >= _MIN_NUMBERS else None


def _is_number(line: str, page: int, offset: int | None) -> bool:
    found = _NUMBER_LINE.fullmatch(line) if offset is not None else None
    return found is not None and int(found.group(1)) - page == offset


def _key(line: str) -> str:
    return _NUMBER_TAIL.sub("", line).casefold() or line.casefold()


def _run(lines: Sequence[str], is_furniture: Callable[[str], bool]) -> int:
    return sum(1 for _ in takewhile(is_furniture, islice(lines, _EDGE_LINES)))
