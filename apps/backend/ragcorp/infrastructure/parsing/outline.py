"""The structure of a Markdown text by character offset: headings, pipe tables, lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ragcorp.infrastructure.markdown_blocks import BlockHeading, front_matter, markdown_blocks

_SEPARATOR = re.compile(r"^[ ]{0,3}(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$", re.MULTILINE)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(\S[^\n]*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A top-level heading; ``path`` has the enclosing titles and its own."""

    offset: int
    level: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A pipe table: ``[start, rows[0])`` is header and separator; each row ends where the next one starts."""

    start: int
    rows: tuple[int, ...]
    end: int


class Lines:
    """Maps offsets to 1-based line numbers and line indexes (0-based) to offsets."""

    __slots__ = ("starts",)

    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def number(self, offset: int) -> int:
        return bisect_right(self.starts, offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """Headings and tables in text order. Neither is looked for inside code fences or the front matter."""

    headings: tuple[Heading, ...]
    tables: tuple[Table, ...]
    lines: Lines

    @classmethod
    def of(cls, text: str) -> Outline:
        lines = Lines(text)
        blocks = markdown_blocks(text)
        return cls(
            headings=_with_paths(blocks.headings),
            tables=_tables(text, lines, blocks.fences, blocks.body_start),
            lines=lines,
        )

    @classmethod
    def of_plain(cls, text: str) -> Outline:
        """Return the outline of a text that is no Markdown: lines alone."""
        return cls(headings=(), tables=(), lines=Lines(text))


def first_title(text: str) -> str | None:
    """Return the front matter's ``title:``, else the first heading of level 1."""
    named = _FRONT_TITLE.search(front_matter(text))
    if named:
        return named.group(1).strip("\"'").strip() or None
    headings = markdown_blocks(text).headings
    return next((heading.title for heading in headings if heading.level == 1), None)


def _with_paths(headings: Sequence[BlockHeading]) -> tuple[Heading, ...]:
    stack: list[tuple[int, str]] = []
    found: list[Heading] = []
    for heading in headings:
        while stack and stack[-1][0] >= heading.level:
            stack.pop()
        stack.append((heading.level, heading.title))
        path = tuple(title for _, title in stack)
        found.append(Heading(offset=heading.offset, level=heading.level, path=path))
    return tuple(found)


def _tables(text: str, lines: Lines, fences: Sequence[tuple[int, int]], body_start: int) -> tuple[Table, ...]:
    starts = [*lines.starts, len(text) + 1]

    def row(line: int) -> str:
        return text[starts[line] : starts[line + 1] - 1]

    fence_starts = [start for start, _ in fences]
    tables: list[Table] = []
    free_from = body_start
    for match in _SEPARATOR.finditer(text, body_start):
        if "|" not in match.group():
            continue
        separator = lines.number(match.start()) - 1
        start = starts[separator - 1] if separator else -1
        if start < free_from or "|" not in row(separator - 1):
            continue
        fence = bisect_right(fence_starts, start) - 1
        if fence >= 0 and start < fences[fence][1]:
            continue
        line = separator + 1
        while line < len(lines.starts) and "|" in row(line):
            line += 1
        end = min(starts[line], len(text))
        tables.append(Table(start=start, rows=tuple(starts[separator + 1 : line]), end=end))
        free_from = end
    return tuple(tables)
