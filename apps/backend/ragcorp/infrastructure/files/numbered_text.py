"""Lines of a text by their numbers, without a list of all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

_BLOCK = 1 << 11
"""Characters between two places whose line is known."""


class NumberedText:
    r"""Counts lines, from 1, as ripgrep does: they end at ``\n`` only. A ``\r`` before it is dropped."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = list(accumulate(text.count("\n", start, start + _BLOCK) for start in range(0, len(text), _BLOCK)))
        ended = self._ends[-1] if self._ends else 0
        self.total = ended + (not text.endswith("\n") and text != "")

    def text(self, first: int, last: int) -> str:
        """Return lines, joined by LF; an empty text for an empty range."""
        return self._text[self._start(first) : self._stop(last)].replace("\r\n", "\n").removesuffix("\r")

    def line(self, number: int, *, limit: int) -> str:
        """Return at most ``limit`` characters of a line, from its beginning."""
        start, stop = self._start(number), self._stop(number)
        return self._text[start : min(stop, start + limit)] if stop - start > limit else self.text(number, number)

    def characters(self, first: int, last: int) -> int:
        return max(0, self._stop(last) - self._start(first))

    def reach(self, lines: Iterable[int], limit: int) -> int:
        """Return how many of the lines begin before they are over ``limit`` characters together."""
        count = 0
        for line in lines:
            if limit < 0:
                break
            limit -= self.characters(line, line) + 1
            count += 1
        return count

    def _stop(self, line: int) -> int:
        """Return where a line ends, before its LF."""
        after = self._start(line + 1)
        return after - 1 if 0 < line <= (self._ends[-1] if self._ends else 0) else after

    def _start(self, line: int) -> int:
        """Return where a line begins; the end of the text for one behind it."""
        wanted = line - 1
        if wanted <= 0:
            return 0
        block = bisect_left(self._ends, wanted)
        if block == len(self._ends):
            return len(self._text)
        place = block * _BLOCK
        for _ in range(wanted - (self._ends[block - 1] if block else 0)):
            place = self._text.index("\n", place) + 1
        return place
