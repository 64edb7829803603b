"""Cuts one segment of a text into pieces under the caps: prose by structure, tables between rows."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from ragcorp.infrastructure.parsing.outline import Table
from ragcorp.infrastructure.parsing.tokens import TokenMap, estimate_tokens

MAX_CHARACTERS = 8_000
"""No passage is longer, whatever its token count."""

_NOT_SPACE = re.compile(r"\S")

_UNBROKEN = re.compile(r"\S{2000}")
"""Not prose; the library's time is quadratic in its length."""

_MARKS = ("\n\n", "\n", ". ", " ")

_BLOCK_CHARACTERS_PER_TOKEN = 24
"""So that a block makes about six passages."""

_LEADS_PER_BLOCK = 16
"""Crumbs that lead the piece after them, which is cut anew each time. More stay by themselves until all is cut."""

_SENTENCE_END = re.compile(r"[.!?…:;][»”\"')\]]*\s+|\n\s*")
_SPACE = re.compile(r"\s+")
_LINE_END = re.compile(r"\n\s*")


class Spans:
    """``start`` and ``end`` are offsets into ``text``, the end exclusive."""

    def __init__(self, text: str, counter: TokenMap) -> None:
        self.text = text
        self.counter = counter

    def trim(self, start: int, end: int) -> tuple[int, int]:
        """Return the span without white space at its ends; an empty one at ``start`` when it has nothing else."""
        span = self.text[start:end]
        left = len(span) - len(span.lstrip())
        return (start + left, start + len(span.rstrip())) if left < len(span) else (start, start)

    def skip_space(self, start: int, end: int) -> int:
        match = _NOT_SPACE.search(self.text, start, end)
        return match.start() if match else end

    def tokens(self, start: int, end: int) -> int:
        """Return ``estimate_tokens`` of the span: from the map but for the words that it cuts at its ends."""
        text = self.text
        left, right = start, end
        if start and not text[start - 1].isspace():
            space = _SPACE.search(text, start, end)
            left = space.start() if space else end
        if end < len(text) and not (text[end].isspace() or text[end - 1].isspace()):
            right = max(text.rfind(" ", left, end), text.rfind("\n", left, end))
        if right < left:
            return estimate_tokens(text[start:end])
        return estimate_tokens(text[start:left]) + self.counter.count(left, right) + estimate_tokens(text[right:end])

    def fits(self, start: int, end: int, tokens: int, header: str = "") -> bool:
        """Return whether the span under ``header`` is within ``tokens`` and the limit on characters."""
        if end - start + len(header) > MAX_CHARACTERS:
            return False
        return estimate_tokens(header) + self.tokens(start, end) <= tokens


class Splitter:
    """Passes the text to the library in blocks: its time is superlinear in the length of a paragraph."""

    def __init__(self, spans: Spans, *, block_characters: int, markdown: bool) -> None:
        self._spans = spans
        self._block = block_characters
        self._library = MarkdownSplitter if markdown else TextSplitter

    def split(self, start: int, end: int, tokens: int, characters: int) -> Iterator[tuple[int, int]]:
        """Yield trimmed spans that cover all that is not white space in ``[start, end)``, each within both caps."""
        while start < end:
            stop = self._block_end(start, end)
            cut = self._hard_cuts if _UNBROKEN.search(self._spans.text, start, stop) else self._soft_cuts
            for span in cut(start, stop, tokens, characters):
                left, right = self._spans.trim(*span)
                if left < right:
                    yield left, right
            start = stop

    def _block_end(self, start: int, end: int) -> int:
        limit = start + self._block
        if limit >= end:
            return end
        for mark in _MARKS:
            found = self._spans.text.rfind(mark, start + self._block // 2, limit)
            if found >= 0:
                return found + len(mark)
        return limit

    def _soft_cuts(self, start: int, stop: int, tokens: int, characters: int) -> Iterator[tuple[int, int]]:
        text = self._spans.text
        cursor = start

        def size(span: str) -> int:
            """Measure by offset, which is fast while the library proceeds from left to right."""
            nonlocal cursor
            if len(span) > characters:
                return tokens + 1
            found = text.find(span, cursor, stop)
            if found < 0:
                return estimate_tokens(span)
            cursor = found
            return self._spans.tokens(found, found + len(span))

        for offset, span in self._library.from_callback(size, tokens).chunk_indices(text[start:stop]):
            yield start + offset, start + offset + len(span)

    def _hard_cuts(self, start: int, stop: int, tokens: int, characters: int) -> Iterator[tuple[int, int]]:
        """Cut at white space where there is some, else between two tokens."""
        spans = self._spans
        while start < stop:
            limit = stop
            if not (stop - start <= characters and spans.counter.count(start, stop) <= tokens):
                limit = spans.counter.forward(start, tokens, min(start + characters, stop))
                space = max(spans.text.rfind(mark, start + (limit - start) // 2, limit) for mark in (" ", "\n"))
                limit = space + 1 if space >= 0 else limit
            yield start, limit
            start = limit


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
        self._block = max_tokens * _BLOCK_CHARACTERS_PER_TOKEN
        self._splitter = Splitter(self._spans, block_characters=self._block, markdown=markdown)
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

    def tokens(self, piece: Piece) -> int:
        """Return ``estimate_tokens`` of the piece under its header."""
        return estimate_tokens(piece.header) + self._spans.tokens(piece.start, piece.end)

    def _prose(self, start: int, end: int) -> list[Piece]:
        """Cut by structure. A crumb, mostly a lone heading, is joined to the piece after it, within the cap."""
        start, end = self._spans.trim(start, end)
        pieces: list[Piece] = []
        lead = start
        leads = _LEADS_PER_BLOCK * (1 + (end - start) // self._block)
        while start < end:
            room = self._capacity - self._counter.count(lead, start)
            for left, right in self._splitter.split(start, end, room, MAX_CHARACTERS - (start - lead)):
                after = self._spans.skip_space(right, end)
                first = lead if lead < start else left
                if leads and right < after < end and self._is_crumb(left, right) and self._may_lead(first, after):
                    start, lead = after, first
                    leads -= 1
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
            match = boundary.search(text, low, start)
            if match and match.end() < start:
                return match.end()
        return start
