"""Spans of one text, measured in tokens and characters."""

from __future__ import annotations

import re

from ragcorp.infrastructure.parsing.tokens import TokenMap, estimate_tokens

MAX_CHARACTERS = 8_000
"""No passage is longer, whatever its token count."""

_NOT_SPACE = re.compile(r"\S")


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
        found = _NOT_SPACE.search(self.text, start, end)
        return found.start() if found else end

    def tokens(self, start: int, end: int) -> int:
        """Return ``estimate_tokens`` of the span: from the map where it begins and ends at white space."""
        text = self.text
        clean_start = start == 0 or text[start - 1].isspace()
        if clean_start and (end == len(text) or text[end].isspace() or text[end - 1].isspace()):
            return self.counter.count(start, end)
        return estimate_tokens(text[start:end])

    def fits(self, start: int, end: int, tokens: int, header: str = "") -> bool:
        """Return whether the span under ``header`` is within ``tokens`` and the limit on characters."""
        if end - start + len(header) > MAX_CHARACTERS:
            return False
        return estimate_tokens(header) + self.tokens(start, end) <= tokens
