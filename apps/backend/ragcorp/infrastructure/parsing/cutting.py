"""Cuts one segment of a text into pieces under the caps: prose by structure, tables between rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from semantic_text_splitter import MarkdownSplitter

from ragcorp.infrastructure.parsing.outline import Table
from ragcorp.infrastructure.parsing.tokens import TokenMap, estimate_tokens

MAX_CHARACTERS = 8_000
"""No passage is longer, whatever its token count."""

_BLOCK_CHARACTERS_PER_TOKEN = 24
"""The splitter's time grows faster than the length of a paragraph: it gets the text of about six passages at once."""

_SENTENCE_END = re.compile(r"[.!?…:;][»”\"')\]]*\s+|\n\s*")
_SPACE = re.compile(r"\s+")
_UNBROKEN = re.compile(r"\S{2000}")
"""Not language; the splitter's time is quadratic in its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The span ``[start, end)``, trimmed; ``header`` is the head of the table in whose middle it starts, else empty."""

    start: int
    end: int
    header: str = ""


class Cutter:
    """Cuts spans of one text."""

    def __init__(self, text: str, counter: TokenMap, *, max_tokens: int, overlap_tokens: int) -> None:
        self._text = text
        self._counter = counter
        self._max = max_tokens
        self._capacity = max_tokens - overlap_tokens
        self._overlap = overlap_tokens
        self._block = max_tokens * _BLOCK_CHARACTERS_PER_TOKEN

    def pieces(self, start: int, end: int, tables: Sequence[Table], headings: Sequence[int]) -> list[Piece]:
        """Return the pieces of a segment; ``tables`` and ``headings`` (offsets) are those that lie in it."""
        start, end = self._trim(start, end)
        if start == end:
            return []
        if self._fits(start, end, self._max):
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

    def _trim(self, start: int, end: int) -> tuple[int, int]:
        span = self._text[start:end]
        left = len(span) - len(span.lstrip())
        return (start + left, start + len(span.rstrip())) if left < len(span) else (start, start)

    def _fits(self, start: int, end: int, tokens: int, header: str = "") -> bool:
        if end - start + len(header) > MAX_CHARACTERS:
            return False
        return estimate_tokens(header) + self._tokens(start, end) <= tokens

    def _tokens(self, start: int, end: int) -> int:
        """Return ``estimate_tokens`` of the span: from the map where it begins and ends at whitespace."""
        text = self._text
        if (start == 0 or text[start - 1].isspace()) and (end == len(text) or text[end].isspace() or text[end - 1].isspace()):
            return self._counter.count(start, end)
        return estimate_tokens(text[start:end])

    def _prose(self, start: int, end: int) -> list[Piece]:
        start, end = self._trim(start, end)
        if start == end:
            return []
        if self._fits(start, end, self._capacity):
            return [Piece(start=start, end=end)]
        return [Piece(start=left, end=right) for left, right in self._split(start, end, self._capacity, MAX_CHARACTERS)]

    def _split(self, start: int, end: int, tokens: int, characters: int) -> Iterator[tuple[int, int]]:
        while start < end:
            stop = self._block_end(start, end)
            cut = self._hard_cuts if _UNBROKEN.search(self._text, start, stop) else self._soft_cuts
            for left, right in cut(start, stop, tokens, characters):
                left, right = self._trim(left, right)
                if left < right:
                    yield left, right
            start = stop

    def _soft_cuts(self, start: int, stop: int, tokens: int, characters: int) -> Iterator[tuple[int, int]]:
        text = self._text
        cursor = start

        def size(span: str) -> int:
            """Measure by place instead of by content where the splitter asks about the block from left to right."""
            nonlocal cursor
            if len(span) > characters:
                return tokens + 1
            found = text.find(span, cursor, stop)
            if found < 0:
                return estimate_tokens(span)
            cursor = found
            return self._tokens(found, found + len(span))

        for offset, span in MarkdownSplitter.from_callback(size, tokens).chunk_indices(text[start:stop]):
            yield start + offset, start + offset + len(span)

    def _hard_cuts(self, start: int, stop: int, tokens: int, characters: int) -> Iterator[tuple[int, int]]:
        """Cut at whitespace where there is some, else between two tokens."""
        while start < stop:
            limit = stop
            if stop - start > characters or self._counter.count(start, stop) > tokens:
                limit = self._counter.forward(start, tokens, min(start + characters, stop))
            if limit < stop:
                space = max(self._text.rfind(mark, start + (limit - start) // 2, limit) for mark in (" ", "\n"))
                limit = space + 1 if space >= 0 else limit
            yield start, limit
            start = limit

    def _block_end(self, start: int, end: int) -> int:
        if end - start <= self._block:
            return end
        limit = start + self._block
        floor = start + self._block // 2
        for mark in ("\n\n", "\n", ". ", " "):
            found = self._text.rfind(mark, floor, limit)
            if found >= 0:
                return found + len(mark)
        return limit

    def _rows(self, start: int, table: Table) -> Iterator[Piece]:
        """Pack rows; ``start`` may lie before the table, where a few words introduce it."""
        first_row = table.rows[0] if table.rows else table.end
        header = self._text[table.start : first_row].rstrip() + "\n"
        if estimate_tokens(header) > self._max // 2 or len(header) > MAX_CHARACTERS // 2:
            header = ""
        edges = [*table.rows, table.end]
        if not self._fits(start, first_row, self._capacity):
            yield from self._prose(start, first_row)
            start, current = first_row, header
        else:
            current = ""
        filled = first_row
        for left, right in zip(edges, edges[1:], strict=False):
            if self._fits(start, right, self._max, current):
                filled = right
                continue
            if filled > start:
                yield self._piece(start, filled, current)
            start, filled, current = left, right, header
            if not self._fits(left, right, self._max, header):
                room = self._max - estimate_tokens(header)
                for low, high in self._split(left, right, room, MAX_CHARACTERS - len(header)):
                    yield Piece(start=low, end=high, header=header)
                start = right
        if filled > start:
            yield self._piece(start, filled, current)

    def _piece(self, start: int, end: int, header: str) -> Piece:
        start, end = self._trim(start, end)
        return Piece(start=start, end=end, header=header)

    def _without_crumbs(self, pieces: list[Piece]) -> list[Piece]:
        """Join a piece of a few words to the one before it where the caps allow."""
        kept: list[Piece] = []
        for piece in pieces:
            if kept and not piece.header and self._counter.count(piece.start, piece.end) < self._max // 8:
                last = kept[-1]
                if self._fits(last.start, piece.end, self._max, last.header):
                    kept[-1] = Piece(start=last.start, end=piece.end, header=last.header)
                    continue
            kept.append(piece)
        return kept

    def _with_overlap(self, pieces: list[Piece], tables: Sequence[Table], headings: Sequence[int]) -> list[Piece]:
        """Start each piece of prose a little earlier, within its section and not inside a table."""
        table_edges = [edge for table in tables for edge in (table.start, table.end)]
        barriers = sorted({*headings, *table_edges})
        extended = pieces[:1]
        for before, piece in zip(pieces, pieces[1:], strict=False):
            floor = max([before.start, *(barrier for barrier in barriers if barrier <= piece.start)])
            start = piece.start if piece.header else self._overlap_start(floor, piece.start)
            if start < piece.start and self._fits(start, piece.end, self._max):
                extended.append(Piece(start=start, end=piece.end))
            else:
                extended.append(piece)
        return extended

    def _overlap_start(self, floor: int, start: int) -> int:
        """Return the earliest start of a sentence, else of a word, within the overlap before ``start``."""
        if not self._overlap or start <= floor or not self._text[start - 1].isspace():
            return start
        low = max(floor, self._counter.back(start, self._overlap))
        if low == floor:
            return low
        for boundary in (_SENTENCE_END, _SPACE):
            found = boundary.search(self._text, low, start)
            if found and found.end() < start:
                return found.end()
        return start
