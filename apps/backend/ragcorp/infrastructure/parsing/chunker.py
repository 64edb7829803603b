"""Passages that follow headings, sentences and table rows."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragcorp.domain.documents import ChunkDraft, ParsedText
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.parsing.cutting import Cutter, Piece
from ragcorp.infrastructure.parsing.outline import Heading, Outline
from ragcorp.infrastructure.parsing.tokens import TokenMap

MIN_TOKENS = 32
MAX_TOKENS = 2_048


class StructureChunker:
    """Cuts by sections first, then by Markdown structure inside a section (``semantic-text-splitter``).

    Plain text has neither: it is cut at blank lines, else at line ends.

    A passage that starts inside a table carries the table's header before its rows; its lines are those of the rows.
    No passage has both recognised text (OCR) and other.
    """

    def __init__(self, *, max_tokens: int = 256, overlap_tokens: int = 32) -> None:
        if not MIN_TOKENS <= max_tokens <= MAX_TOKENS:
            raise ConfigurationError(
                f"The chunk size must be from {MIN_TOKENS} to {MAX_TOKENS} tokens.",
                field="max_tokens",
                limit=f"{MIN_TOKENS}-{MAX_TOKENS}",
            )
        if not 0 <= overlap_tokens * 2 < max_tokens:
            raise ConfigurationError(
                "The chunk overlap must be at least 0 and less than half of the chunk size.",
                field="overlap_tokens",
                limit="max_tokens / 2",
            )
        self._max = max_tokens
        self._overlap = overlap_tokens

    def fingerprint(self, *, plain: bool) -> str:
        return f"{'lines-1' if plain else 'structure-1'}:{self._max}:{self._overlap}"

    def chunk(self, parsed: ParsedText) -> Sequence[ChunkDraft]:
        text = parsed.text
        if not text.strip():
            return ()
        outline = Outline.of_plain(text) if parsed.plain else Outline.of(text)
        counter = TokenMap(text)
        cutter = Cutter(text, counter, max_tokens=self._max, overlap_tokens=self._overlap, markdown=not parsed.plain)
        headings = [heading.offset for heading in outline.headings]
        tables = [table.start for table in outline.tables]
        pieces: list[Piece] = []
        spans = segment_spans(text, outline.headings, counter, small=self._max // 8, limit=self._max)
        for start, end in _cut_at(spans, _edges(parsed)):
            pieces += cutter.pieces(
                start,
                end,
                outline.tables[bisect_left(tables, start) : bisect_left(tables, end)],
                headings[bisect_left(headings, start) : bisect_left(headings, end)],
            )
        drafts: list[ChunkDraft] = []
        for index, piece in enumerate(pieces):
            content = piece.header + text[piece.start : piece.end]
            enclosing = bisect_right(headings, piece.start) - 1
            drafts.append(
                ChunkDraft(
                    chunk_index=index,
                    content=content,
                    heading_path=outline.headings[enclosing].path if enclosing >= 0 else (),
                    line_start=outline.lines.number(piece.start),
                    line_end=outline.lines.number(piece.end - 1),
                    page_start=_page(parsed.page_starts, piece.start),
                    page_end=_page(parsed.page_starts, piece.end - 1),
                    token_count=cutter.tokens(piece),
                )
            )
        return tuple(drafts)


def _edges(parsed: ParsedText) -> list[int]:
    """Return the offsets at which recognised pages start and end."""
    starts = (*parsed.page_starts, len(parsed.text))
    return sorted({starts[number] for page in parsed.recognized for number in (page - 1, page)})


def _cut_at(spans: Sequence[tuple[int, int]], edges: Sequence[int]) -> Iterator[tuple[int, int]]:
    for start, end in spans:
        inside = edges[bisect_right(edges, start) : bisect_left(edges, end)]
        yield from pairwise((start, *inside, end))


def _page(page_starts: Sequence[int], offset: int) -> int | None:
    return max(1, bisect_right(page_starts, offset)) if page_starts else None


@dataclass(slots=True)
class _Segment:
    """One or more sections that passages are cut from; ``level`` is that of its first heading."""

    start: int
    end: int
    level: int
    tokens: int


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
            last.end = end
            last.tokens += section.tokens
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
