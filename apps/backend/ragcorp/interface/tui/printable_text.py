"""Makes text safe for the terminal, and wraps it."""

import re
import unicodedata

from rich.cells import cell_len

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
TAB = "    "
MOST_CHARACTERS = 8
"""Characters of one cell: a letter with more combining marks is drawn over several."""

_HARMLESS = re.compile("[ -~\n\u00a1-\u00ac\u00ae-\u02ff]*")
_REPLACED = {0x0A: "\n", 0x09: TAB, 0x2028: " ", 0x2029: " "}
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")


class _PrintableTable(dict[int, str]):
    """For ``str.translate``: replaces controls, bidi marks and surrogates; drops characters without width."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        control = unicodedata.category(character) in ("Cc", "Cf", "Cs")
        self[code] = "" if character in _INVISIBLE else REPLACEMENT if control else character
        return self[code]


_TABLE = _PrintableTable(_REPLACED)


def printable(text: str) -> str:
    """Return ``text`` without characters that could steer or deceive a terminal; lines end with LF."""
    plain = text.replace("\r\n", "\n")
    return plain if _HARMLESS.fullmatch(plain) else plain.translate(_TABLE)


def on_one_line(text: str) -> str:
    """Return ``text`` on one line with single spaces."""
    return " ".join(printable(text).split())


def shortened(text: str, cells: int) -> str:
    """Return ``text`` in at most ``cells`` cells, cut with an ellipsis."""
    if cell_len(text) <= cells:
        return text
    return text[: fitting(text, 0, max(cells - 1, 0))] + "…"


def wrapped(line: str, cells: int) -> list[tuple[int, int]]:
    """Return the spans of ``line``, one per row: cut after spaces, else where the row is full."""
    if (line.isascii() and len(line) <= cells) or cell_len(line) <= cells:
        return [(0, len(line))]
    rows, start = [], 0
    while start < len(line):
        end = max(fitting(line, start, cells), start + 1)
        if end < len(line):
            space = line.rfind(" ", start, end + 1)
            if space > start:
                end = space + 1
        rows.append((start, end))
        start = end
    return rows


def fitting(line: str, start: int, cells: int) -> int:
    """Return the end of the longest piece from ``start`` that fits into ``cells``."""
    end = min(len(line), start + cells)
    if line[start:end].isascii():
        return end
    width, place = 0, start
    while place < min(len(line), start + MOST_CHARACTERS * cells):
        width += cell_len(line[place])
        if width > cells:
            break
        place += 1
    return place
