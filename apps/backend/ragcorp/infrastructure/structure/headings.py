"""The headings of a Markdown text, and what of it is no prose."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt

from ragcorp.infrastructure.structure.text_span import Lines

MAX_HEADING = 200
"""Characters; a longer "heading" is prose with a rule under it."""

_HEADING_LIKE = re.compile(r"^[ \t>]*#{1,6}(?:[ \t]|$)|^[ \t]{0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n){0,200}?---[ \t]*(?:\n|\Z)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKUP = re.compile(r"\\([!-/:-@\[-`{-~])|\*\*|__|`+|~~|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    offset: int
    level: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """``headings`` are those of the top level; ``closed`` the offset spans of code fences and of the front matter."""

    headings: tuple[Heading, ...] = ()
    closed: tuple[tuple[int, int], ...] = ()


def markdown_blocks(text: str, lines: Lines) -> Blocks:
    front = _FRONT_MATTER.match(text)
    body = front.end() if front else 0
    closed = [(0, body)] if front else []
    if not (_HEADING_LIKE.search(text, body) or "```" in text or "~~~" in text):
        return Blocks(closed=tuple(closed))
    skipped = lines.index(body)
    headings: list[Heading] = []
    tokens = _PARSER.parse(text[body:])
    for position, token in enumerate(tokens):
        if token.map is None:
            continue
        first, last = token.map[0] + skipped, token.map[1] + skipped
        if token.type == "fence":
            closed.append((lines.starts[first], lines.end(min(last, len(lines.starts)) - 1)))
        elif token.type == "heading_open" and token.level == 0:
            source = tokens[position + 1].content
            title = plain_heading(source) if len(source) <= MAX_HEADING else ""
            if title:
                headings.append(Heading(offset=lines.starts[first], level=int(token.tag[1:]), title=title))
    return Blocks(headings=tuple(headings), closed=tuple(closed))


def plain_heading(source: str) -> str:
    """Return a heading's text without inline markup, on one line."""
    return " ".join(_MARKUP.sub(lambda found: found.group(1) or "", _LINK.sub(r"\1", source)).split())


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero").enable(
        ["heading", "lheading", "fence", "code", "hr", "list", "blockquote", "html_block"]
    )
    parser.core.ruler.enableOnly(["block"])
    return parser


_PARSER = _parser()
