"""Splits a span by Markdown structure or by lines, sentences and words, in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from ragcorp.infrastructure.parsing.spans import Spans
from ragcorp.infrastructure.parsing.tokens import estimate_tokens

_UNBROKEN = re.compile(r"\S{2000}")
"""Not prose; the library's time is quadratic in its length."""

_MARKS = ("\n\n", "\n", ". ", " ")


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
