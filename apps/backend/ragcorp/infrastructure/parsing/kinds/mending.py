"""Undoes what kreuzberg's Markdown adds to the text."""

import re
from collections.abc import Iterator

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{~}\]])")
_STRUCTURAL = frozenset("#>-+=~`")
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\((?:<>|data:[^()\s]*)?\)")
_SPACES = re.compile(r" {2,}")
_SEPARATOR = re.compile(r"\|(?: ?:?-+:? ?\|)+")
_BLANK_ROW = re.compile(r"\|[ |]*")
_MIDNIGHT = re.compile(r"(?<=\| )(\d{4}-\d{2}-\d{2}) 00:00:00(?= \|)")
_TIME_ONLY = re.compile(r"(?<=\| )1899-12-3[01] (\d{2}:\d{2}:\d{2})(?= \|)")


def mend(markdown: str, *, escaped: bool) -> str:
    """Undo padding and escapes in tables, and escapes elsewhere where ``escaped``; drop embedded images, blank rows.

    A blank line is put after a table that has none, and dates of a workbook lose a time that is midnight.
    """
    return "\n".join(_mended(_IMAGE.sub(r"\1", markdown).split("\n"), escaped=escaped)).strip("\n")


def _mended(lines: list[str], *, escaped: bool) -> Iterator[str]:
    fenced = False
    in_table = False
    for index, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
        is_row = line.startswith("|") and not fenced
        if in_table and not is_row and line.strip():
            yield ""
        in_table = is_row
        if not is_row:
            yield _unescaped(line) if escaped and not fenced else line
            continue
        row = _row(line)
        after = lines[index + 1] if index + 1 < len(lines) else ""
        if not _BLANK_ROW.fullmatch(row) or _SEPARATOR.fullmatch(_SPACES.sub(" ", after)):
            yield row


def _row(line: str) -> str:
    squeezed = _SPACES.sub(" ", line).rstrip()
    if _SEPARATOR.fullmatch(squeezed):
        return "| " + " | ".join("---" for _ in range(squeezed.count("|") - 1)) + " |"
    return _TIME_ONLY.sub(r"\1", _MIDNIGHT.sub(r"\1", _unescaped(squeezed)))


def _unescaped(line: str) -> str:
    indent = len(line) - len(line.lstrip())

    def plain(found: re.Match[str]) -> str:
        starts_block = found.group(1) in _STRUCTURAL and found.start() <= indent
        return found.group() if starts_block or found.group(1) == "|" else found.group(1)

    return _ESCAPE.sub(plain, line)
