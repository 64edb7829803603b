"""Groups the sections of a text into segments: what one or more passages are cut from."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.infrastructure.parsing.outline import Heading
from ragcorp.infrastructure.parsing.tokens import TokenMap


class _Segment:
    __slots__ = ("end", "level", "start", "tokens")

    def __init__(self, start: int, end: int, level: int, tokens: int) -> None:
        self.start = start
        self.end = end
        self.level = level
        self.tokens = tokens

    def absorb(self, other: _Segment) -> None:
        self.end = other.end
        self.tokens += other.tokens


def segment_spans(
    text: str, headings: Sequence[Heading], counter: TokenMap, *, small: int, limit: int
) -> list[tuple[int, int]]:
    """Return spans that cover ``text``, each starting at a heading (or at 0), in order.

    Two neighbouring sections of at least ``small`` tokens never share a segment. A smaller one joins the section
    before it, or, being the bare head of a chapter, its first subsection; never a section further up the tree, and
    never so that more than ``limit`` tokens come together, except for a bare head.
    """
    bounds = [0, *(heading.offset for heading in headings), len(text)]
    levels = [0, *(heading.level for heading in headings)]
    segments: list[_Segment] = []
    for position, level in enumerate(levels):
        start, end = bounds[position], bounds[position + 1]
        if end <= start:
            continue
        section = _Segment(start, end, level, counter.count(start, end))
        last = segments[-1] if segments else None
        if last is not None and _joins(last, section, small=small, limit=limit):
            last.absorb(section)
        else:
            segments.append(section)
    return [(segment.start, segment.end) for segment in segments]


def _joins(last: _Segment, section: _Segment, *, small: int, limit: int) -> bool:
    deeper = section.level > last.level
    if last.tokens < small and deeper:
        return True
    if last.tokens >= small and section.tokens >= small:
        return False
    return section.level >= last.level and last.tokens + section.tokens <= limit
