"""Cuts one segment of a text into pieces under the caps: prose by structure, tables between rows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragcorp.infrastructure.parsing.outline import Table
from ragcorp.infrastructure.parsing.spans import MAX_CHARACTERS, Spans
from ragcorp.infrastructure.parsing.splitting import Splitter
from ragcorp.infrastructure.parsing.tokens import TokenMap, estimate_tokens

_BLOCK_CHARACTERS_PER_TOKEN = 24
"""So that a block makes about six passages."""

_SENTENCE_END = re.compile(r"[.!?…:;][»”\"')\]]*\s+|\n\s*")
_SPACE = re.compile(r"\s+")
_LINE_END = re.compile(r"\n\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The span ``[start, end)``, trimmed; ``header`` is the head of the table in whose middle it starts, else empty."""

    start: int
    end: int
    header: str = ""


class Cutter:
    """Cuts segments of one text."""

    def __init__(self, text: str, counter: TokenMap, *, max_tokens: int, overlap_tokens: int, markdown: bool) -> None:
        self._spans = Spans(text, counter)
        block = max_tokens * _BLOCK_CHARACTERS_PER_TOKEN
        self._splitter = Splitter(self._spans, block_characters=block, markdown=markdown)
        self._counter = counter
        self._max = max_tokens
        self._capacity = max_tokens - overlap_tokens
        self._overlap = overlap_tokens
        self._boundaries = (_SENTENCE_END, _SPACE) if markdown else (_LINE_END,)

    def pieces(self, start: int, end: int, tables: Sequence[Table], headings: Sequence[int]) -> list[Piece]:
        """Return the pieces of a segment; ``tables`` and ``headings`` (offsets) are those that lie in it."""
        start, end = self._spans.trim(start, end)
        if start == end:
            return []
        if self._spans.fits(start, end, self._max):
            return [Piece(start=start, end=end)]
        pieces: list[Piece] = []
        position = start
        for table in tables:
            pieces += self._prose(position, table.start)
            lead = table.start
            if pieces and not pieces[-1].header and self._counter.count(pieces[-1].start, lead) < self._max // 4:
                lead = pieces.pop().start
            pieces += self._rows(lead, table)
            position = table.end
        pieces += self._prose(position, end)
        return self._with_overlap(self._without_crumbs(pieces), tables, headings)

    def _prose(self, start: int, end: int) -> list[Piece]:
        """Cut by structure. A crumb, mostly a lone heading, is joined to the piece after it, within the cap."""
        start, end = self._spans.trim(start, end)
        pieces: list[Piece] = []
        lead = start
        while start < end:
            room = self._capacity - self._counter.count(lead, start)
            for left, right in self._splitter.split(start, end, room, MAX_CHARACTERS - (start - lead)):
                after = self._spans.skip_space(right, end)
                first = lead if lead < start else left
                if right < after < end and self._is_crumb(left, right) and self._may_lead(first, after):
                    start, lead = after, first
                    break
                pieces.append(Piece(start=first, end=right))
                if lead < start:
                    start = lead = after
                    break
            else:
                start = end
        return pieces

    def _is_crumb(self, start: int, end: int) -> bool:
        return self._counter.count(start, end) < self._max // 8

    def _may_lead(self, start: int, end: int) -> bool:
        return self._counter.count(start, end) < self._capacity // 2 and end - start < MAX_CHARACTERS // 2

    def _rows(self, start: int, table: Table) -> Iterator[Piece]:
        """Pack rows; ``start`` may lie before the table, where a few words introduce it."""
        first_row = table.rows[0] if table.rows else table.end
        header = self._spans.text[table.start : first_row].rstrip() + "\n"
        if estimate_tokens(header) > self._max // 2 or len(header) > MAX_CHARACTERS // 2:
            header = ""
        end, repeated = first_row, ""
        if not self._spans.fits(start, first_row, self._capacity):
            yield from self._prose(start, first_row)
            start, repeated = first_row, header
        for left, right in pairwise([*table.rows, table.end]):
            if self._spans.fits(start, right, self._max, repeated):
                end = right
            elif self._spans.fits(left, right, self._max, header):
                yield from self._piece(start, end, repeated)
                start, end, repeated = left, right, header
            else:
                if end > first_row or not header:
                    yield from self._piece(start, end, repeated)
                    start = left
                yield from self._cut_row(start, left, right, header)
                start, end, repeated = right, right, header
        yield from self._piece(start, end, repeated)

    def _cut_row(self, start: int, left: int, right: int, header: str) -> Iterator[Piece]:
        """Cut a row that is over the caps, each part under the header; ``[start, left)`` is the header in its place."""
        room = self._max - estimate_tokens(header)
        for low, high in self._splitter.split(left, right, room, MAX_CHARACTERS - len(header)):
            if start < left and self._spans.fits(start, high, self._max):
                yield from self._piece(start, high, "")
            else:
                yield from self._piece(start, left, "")
                yield Piece(start=low, end=high, header=header)
            start = left

    def _piece(self, start: int, end: int, header: str) -> Iterator[Piece]:
        start, end = self._spans.trim(start, end)
        if start < end:
            yield Piece(start=start, end=end, header=header)

    def _without_crumbs(self, pieces: list[Piece]) -> list[Piece]:
        """Join a crumb to the piece before it where the caps allow."""
        kept: list[Piece] = []
        for piece in pieces:
            if kept and not piece.header and self._is_crumb(piece.start, piece.end):
                last = kept[-1]
                if self._spans.fits(last.start, piece.end, self._max, last.header):
                    kept[-1] = Piece(start=last.start, end=piece.end, header=last.header)
                    continue
            kept.append(piece)
        return kept

    def _with_overlap(self, pieces: list[Piece], tables: Sequence[Table], headings: Sequence[int]) -> list[Piece]:
        """Start each piece of prose a little earlier, within its section and not inside a table."""
        barriers = sorted({*headings, *(edge for table in tables for edge in (table.start, table.end))})
        extended = pieces[:1]
        for before, piece in pairwise(pieces):
            start = piece.start
            if not piece.header:
                passed = bisect_right(barriers, start)
                start = self._overlap_start(max(before.start, barriers[passed - 1] if passed else 0), start)
            fits = start < piece.start and self._spans.fits(start, piece.end, self._max)
            extended.append(Piece(start=start, end=piece.end) if fits else piece)
        return extended

    def _overlap_start(self, floor: int, start: int) -> int:
        """Return the earliest start of a sentence, else of a word (plain text: of a line), within the overlap."""
        text = self._spans.text
        if not self._overlap or start <= floor or not text[start - 1].isspace():
            return start
        low = max(floor, self._counter.back(start, self._overlap))
        if low == floor:
            return self._spans.skip_space(low, start)
        for boundary in self._boundaries:
            found = boundary.search(text, low, start)
            if found and found.end() < start:
                return found.end()
        return start
