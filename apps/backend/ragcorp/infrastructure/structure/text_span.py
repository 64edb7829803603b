"""Spans of a text that is not code, before they become entities."""

import re
from bisect import bisect_right
from dataclasses import dataclass

from ragcorp.domain.structure.entities import EntityKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """An entity of a text: its own text is ``[start, end)``, without its parts.

    Lines are 1-based and inclusive, those of the whole span. ``content`` is set for identifiers alone, which repeat
    the text of others: the line, table row or paragraph.
    """

    key: str
    kind: EntityKind
    name: str
    names: tuple[str, ...]
    container: str | None
    start: int
    end: int
    line_start: int
    line_end: int
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The beginning of a part of a text.

    ``level`` is that of a Markdown heading, None for a line. ``rank`` determines the nesting without
    levels: chapters in titles, articles in chapters. ``number`` is canonical.
    """

    offset: int
    kind: EntityKind
    label: str
    name: str
    names: tuple[str, ...]
    level: int | None = None
    rank: int | None = None
    number: str | None = None


class Lines:
    """The lines of a text by index (from 0), and the other way round."""

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def index(self, offset: int) -> int:
        return bisect_right(self.starts, offset) - 1

    def end(self, index: int) -> int:
        """Return the offset after a line, without its line feed."""
        return self.starts[index + 1] - 1 if index + 1 < len(self.starts) else len(self.text)

    def head(self, index: int, characters: int) -> str:
        start = self.starts[index]
        return self.text[start : min(self.end(index), start + characters)]

    def tail(self, index: int, characters: int) -> str:
        end = self.end(index)
        return self.text[max(self.starts[index], end - characters) : end]

    def last(self, start: int, end: int) -> int:
        """Return the number (from 1) of the last line of ``[start, end)``."""
        return self.index(max(end - 1, start)) + 1


class UniqueKeys:
    """Numbers repeated keys: ``Session.user``, ``Session.user (2)``."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def of(self, wanted: str) -> str:
        key = wanted
        while key in self._counts:
            self._counts[wanted] += 1
            key = f"{wanted} ({self._counts[wanted]})"
        self._counts[key] = 1
        return key
