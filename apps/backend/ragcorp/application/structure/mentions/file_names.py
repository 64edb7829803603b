"""Finds file names with signs that no token has: ``Contrato Ñandú (firmado).md``, ``contrato-d'or.md``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragcorp.application.structure.mentions.shapes import Mention, is_file
from ragcorp.domain.text.entity_names import file_name, is_empty

MAX_WORDS = 5
"""Maximum words of a name with spaces."""

MAX_WORD = 80
"""Maximum characters of each word."""

_CHUNK = re.compile(r"\S+")
_LEADING = "¿¡\"'`«\u201c\u201e\u2018([<*"
_TRAILING = ".,;:!?)\"'`»\u201d\u2019]>*"
_SIGN = re.compile(r"\w['\u2019&+]\w|\)\.\w")
_BARE_WORD = re.compile(r"[(\"'`\u201c\u201e\u2018[*«]?[\w&+][\w'\u2019&+.-]*[)]?")


def files_with_signs(text: str) -> Iterator[tuple[Mention, int, int]]:
    """Yield each mention, longest name first, with the span of its last word, which it claims."""
    before: list[re.Match[str]] = []
    for chunk in _CHUNK.finditer(text):
        word = chunk[0]
        if len(word) <= MAX_WORD and _SIGN.search(word):
            end = chunk.start() + len(word.rstrip(_TRAILING))
            start = _opened(text, chunk.start(), end)
            if start < end and is_file(text[start:end]) and "/" not in word and "\\" not in word:
                yield _named(text, before, start, end), start, end
        before = [*before[1 - MAX_WORDS :], chunk] if len(word) <= MAX_WORD and _BARE_WORD.fullmatch(word) else []


def _named(text: str, before: list[re.Match[str]], start: int, end: int) -> Mention:
    starts = [_opened(text, match.start(), end) for match in before if "\n" not in text[match.start() : start]]
    names = {file_name(text[begin:end]): (begin, end) for begin in (*starts, start)}
    names = {name: span for name, span in names.items() if not is_empty(name)}
    first = min(begin for begin, _ in names.values())
    return Mention(
        text=text[first:end],
        start=first,
        end=end,
        names=tuple(names),
        extension=text[start:end].rpartition(".")[2].lower(),
        spans=tuple(names.values()),
    )


def _opened(text: str, start: int, end: int) -> int:
    """Return the start of a name after quotation marks and an unclosed parenthesis."""
    while start < end and text[start] in _LEADING:
        if text[start] == "(" and text.count("(", start, end) <= text.count(")", start, end):
            break
        start += 1
    return start
