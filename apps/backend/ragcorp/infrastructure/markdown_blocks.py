"""Finds the blocks of a Markdown text at which it may be cut: headings, code fences, the front matter."""

import re
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt

MAX_HEADING_CHARACTERS = 200
"""A longer "heading" is prose with a rule under it."""

_HEADING_LIKE = re.compile(r"^[ \t>]*#{1,6}(?:[ \t]|$)|^[ \t]{0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_QUOTED = re.compile(r"^ {0,3}>", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n){0,200}?---[ \t]*(?:\n|\Z)")
_LINE_END = re.compile("\n")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKUP = re.compile(r"\\([!-/:-@\[-`{-~])|(\*\*|__|`+|~~)|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockHeading:
    """A heading of the top level, by character offset; ``title`` is without markup."""

    offset: int
    level: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownBlocks:
    """``fences`` are the offset spans of code fences; before ``body_start`` is the front matter."""

    headings: tuple[BlockHeading, ...] = ()
    fences: tuple[tuple[int, int], ...] = ()
    body_start: int = 0


_LONGEST_CACHED = 100_000
"""Characters. The title, the passages and the entities of one document all need its blocks."""


def markdown_blocks(text: str) -> MarkdownBlocks:
    return _cached_blocks(text) if len(text) <= _LONGEST_CACHED else _blocks(text)


def _blocks(text: str) -> MarkdownBlocks:
    body = len(front_matter(text))
    if not (_HEADING_LIKE.search(text, body) or "```" in text or "~~~" in text):
        return MarkdownBlocks(body_start=body)
    offsets = [body, *(match.end() for match in _LINE_END.finditer(text, body)), len(text)]
    headings: list[BlockHeading] = []
    fences: list[tuple[int, int]] = []
    tokens = _PARSER.parse(text[body:])
    for position, token in enumerate(tokens):
        if token.map is None:
            continue
        first, last = token.map
        if token.type == "fence":
            fences.append((offsets[first], offsets[min(last, len(offsets) - 1)]))
        elif token.type == "heading_open" and token.level == 0:
            source = tokens[position + 1].content
            title = (
                plain_heading(source) if len(source) <= MAX_HEADING_CHARACTERS and not _QUOTED.search(source) else ""
            )
            if title:
                headings.append(BlockHeading(offset=offsets[first], level=int(token.tag[1:]), title=title))
    return MarkdownBlocks(headings=tuple(headings), fences=tuple(fences), body_start=body)


_cached_blocks = lru_cache(maxsize=4)(_blocks)


def front_matter(text: str) -> str:
    """Return the YAML that a text begins with, its dashes included; "" where there is none."""
    match = _FRONT_MATTER.match(text)
    return match.group() if match else ""


def plain_heading(source: str) -> str:
    """Return a heading's text without inline markup, on one line."""
    return " ".join(_MARKUP.sub(lambda match: match.group(1) or "", _LINK.sub(r"\1", source)).split())


def _parser() -> MarkdownIt:
    # without its rule for quotations, which takes quadratic time: their lines are prose here
    parser = MarkdownIt("zero").enable(["heading", "lheading", "fence", "code", "hr", "list", "html_block"])
    parser.core.ruler.enableOnly(["block"])
    return parser


_PARSER = _parser()
