"""Writes Markdown from plain text."""

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from ragcorp.domain.documents import ParsedText

_STRUCTURE = re.compile(r"^(?=#{1,6}(?:\s|$)|[-+*>](?:\s|$)|[-=]+\s*$|```|~~~|\|)", re.MULTILINE)


def paragraph(text: str) -> str:
    """Return the text with escapes where a line would otherwise be a heading, a list item or the like."""
    return _STRUCTURE.sub(r"\\", text.strip())


def table(rows: Iterable[Sequence[str]]) -> str:
    """Return a pipe table whose first row is the heading, without blank rows and columns."""
    filled = [cells for row in rows if any(cells := [_cell(cell) if cell else "" for cell in row])]
    columns = [column for column in zip_longest(*filled, fillvalue="") if any(column)]
    lines = [f"| {' | '.join(row)} |" for row in zip(*columns, strict=True)]
    return "\n".join([*lines[:1], f"| {' | '.join('---' for _ in columns)} |", *lines[1:]]) if lines else ""


def paged(pages: Iterable[str]) -> ParsedText:
    """Return the pages as one text with their starts; a blank page starts where the next one does."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for page in pages:
        starts.append(length)
        if page.strip():
            parts.append(page.strip() + "\n\n")
            length += len(parts[-1])
    text = "".join(parts).rstrip()
    return ParsedText(text=text, page_starts=tuple(min(start, len(text)) for start in starts))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
