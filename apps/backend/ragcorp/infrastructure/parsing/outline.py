"""The structure of a Markdown text by character offset: headings, pipe tables, lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from markdown_it import MarkdownIt

MAX_HEADING_CHARACTERS = 200
"""A longer "heading" is prose with a rule under it."""

_HEADING_LIKE = re.compile(r"^[ \t>]*#{1,6}(?:[ \t]|$)|^[ \t]{0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_SEPARATOR = re.compile(r"^[ ]{0,3}(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n){0,200}?---[ \t]*(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"^title:[ \t]*(\S[^\n]*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKUP = re.compile(r"\\([!-/:-@\[-`{-~])|(\*\*|__|`+|~~)|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A top-level heading; ``path`` holds the titles that enclose it and its own."""

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
        found = _FRONT_MATTER.match(text)
        body_start = found.end() if found else 0
        headings, fences = _blocks(text, lines, body_start)
        return cls(headings=headings, tables=_tables(text, lines, fences, body_start), lines=lines)

    @classmethod
    def of_plain(cls, text: str) -> Outline:
        """Return the outline of a text that is no Markdown: lines alone."""
        return cls(headings=(), tables=(), lines=Lines(text))


def first_title(text: str) -> str | None:
    """Return the front matter's ``title:``, else the first heading of level 1."""
    found = _FRONT_MATTER.match(text)
    named = _FRONT_TITLE.search(found.group()) if found else None
    if named:
        return named.group(1).strip("\"'").strip() or None
    headings, _ = _blocks(text, Lines(text), found.end() if found else 0)
    return next((heading.path[-1] for heading in headings if heading.level == 1), None)


def plain_heading(source: str) -> str:
    """Return a heading's text without inline markup, on one line."""
    return " ".join(_MARKUP.sub(lambda found: found.group(1) or "", _LINK.sub(r"\1", source)).split())


def _block_parser() -> MarkdownIt:
    parser = MarkdownIt("zero").enable(
        ["heading", "lheading", "fence", "code", "hr", "list", "blockquote", "html_block"]
    )
    parser.core.ruler.enableOnly(["block"])
    return parser


_BLOCKS = _block_parser()


def _blocks(text: str, lines: Lines, start: int) -> tuple[tuple[Heading, ...], list[tuple[int, int]]]:
    """Return the headings after ``start`` and the offset spans of the code fences."""
    has_headings = _HEADING_LIKE.search(text, start) is not None
    if not has_headings and "```" not in text and "~~~" not in text:
        return (), []
    skipped = lines.number(start) - 1
    offsets = [*lines.starts[skipped:], len(text)]
    tokens = _BLOCKS.parse(text[start:])
    headings: list[Heading] = []
    fences: list[tuple[int, int]] = []
    stack: list[tuple[int, str]] = []
    for position, token in enumerate(tokens):
        if token.map is None:
            continue
        first, last = token.map
        if token.type == "fence":
            fences.append((offsets[first], offsets[min(last, len(offsets) - 1)]))
        elif token.type == "heading_open" and token.level == 0:
            source = tokens[position + 1].content
            title = plain_heading(source) if len(source) <= MAX_HEADING_CHARACTERS else ""
            if not title:
                continue
            level = int(token.tag[1:])
            while stack and stack[-1][0] >= level:
                stack.pop()
            stack.append((level, title))
            headings.append(Heading(offset=offsets[first], level=level, path=tuple(name for _, name in stack)))
    return tuple(headings), fences


def _tables(text: str, lines: Lines, fences: list[tuple[int, int]], body_start: int) -> tuple[Table, ...]:
    starts = [*lines.starts, len(text) + 1]

    def row(line: int) -> str:
        return text[starts[line] : starts[line + 1] - 1]

    fence_starts = [start for start, _ in fences]
    tables: list[Table] = []
    free_from = body_start
    for found in _SEPARATOR.finditer(text, body_start):
        if "|" not in found.group():
            continue
        separator = lines.number(found.start()) - 1
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
