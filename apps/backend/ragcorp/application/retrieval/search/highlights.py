"""Highlights the words of a passage that match a query, by the lexemes of the index. Pure.

A passage is split into words, compounds (REQ-2024-001), and runs of tokens with digits and spaces (91 234 56 78). A
part is marked if one of its lexemes is wanted; a compound or run is marked whole if a wanted lexeme is in none of its
parts. So the query REQ-2024-001 marks that code whole, but only REQ and 2024 of REQ-2024-002.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragcorp.domain.search.requests import Highlight
from ragcorp.domain.text.folding import folded_with_places

MAX_WORD = 2000
"""Maximum characters of a word; a longer one has no lexeme."""

MAX_COMPOUND = 200
"""Maximum characters of a compound; a longer one is marked by its parts only."""

MAX_RUN = 9
"""Maximum parts of a run; more are a table of numbers."""

_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[\u0300-\u036f{_INVISIBLE}])*")
_TRAILING = re.compile(rf"[{_INVISIBLE}]+$")
_JOINT = re.compile(r"[-\u2010-\u2015\u2212._@]|[/\\?&=#%~]{1,3}|:[/\\]{1,2}")
_JOINT_OF_DIGITS = re.compile("[,:]")
_SPACES = re.compile(r"[ \u00a0().-]{1,3}")
_OPENING = "+("
"""Characters before a telephone number that are not marked."""

_ALIKE = str.maketrans("\u2010\u2011\u2012\u2013\u2212\u2018\u2019\u201c\u201d", "-----''\"\"")

Lexemes = Mapping[str, frozenset[str]]
_Rule = Callable[[str, "Token", "Token"], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word, compound or run at [start, end[ of a text, ``spelt`` for the analysis."""

    start: int
    end: int
    spelt: str
    parts: tuple[Token, ...] = ()


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the outermost tokens of a text in order, with their parts."""
    words = [
        Token(start=match.start(), end=match.start() + len(word), spelt=word.lower())
        for match in _WORD.finditer(text)
        if (word := _TRAILING.sub("", match[0]))
    ]
    compounds = [token for group in _groups(text, words, _makes_compound) for token in _joined(text, group)]
    runs = _groups(text, compounds, _makes_run)
    return tuple(token for group in runs for token in _joined(text, group, most=MAX_RUN))


def spellings(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the spellings to analyse, of tokens and parts; with repetitions."""
    for token in tokens:
        if len(token.spelt) <= (MAX_COMPOUND if token.parts else MAX_WORD):
            yield token.spelt
        yield from spellings(token.parts)


def matching(tokens: Iterable[Token], lexemes: Lexemes, wanted: frozenset[str]) -> Iterator[Highlight]:
    """Yield the marks, in order and disjoint. ``lexemes`` are by spelling."""
    for token in tokens:
        held = lexemes.get(token.spelt, frozenset())
        of_parts = frozenset[str]().union(*(lexemes.get(part.spelt, frozenset()) for part in _within(token)))
        if (held - of_parts) & wanted:
            yield Highlight(start=token.start, end=token.end)
        else:
            yield from matching(token.parts, lexemes, wanted)


def literal(text: str, terms: Sequence[str]) -> Iterator[Highlight]:
    """Yield the literal occurrences of the terms, ignoring case, accents and typographic variants."""
    folded, places = folded_with_places(text.translate(_ALIKE))
    for term in terms:
        looked_for, _ = folded_with_places(term.translate(_ALIKE))
        start = folded.find(looked_for) if looked_for else -1
        while start >= 0:
            after = start + len(looked_for)
            end = places[after] if after < len(places) else len(text)  # accents of their own belong to their letter
            if end > places[start]:
                yield Highlight(start=places[start], end=end)
            start = folded.find(looked_for, after)


def disjoint(marks: Iterable[Highlight]) -> tuple[Highlight, ...]:
    """Return the marks in order, overlapping ones merged."""
    merged: list[Highlight] = []
    for mark in sorted(marks, key=lambda mark: (mark.start, mark.end)):
        if merged and mark.start < merged[-1].end:
            merged[-1] = Highlight(start=merged[-1].start, end=max(mark.end, merged[-1].end))
        else:
            merged.append(mark)
    return tuple(merged)


def _within(token: Token) -> Iterator[Token]:
    for part in token.parts:
        yield part
        yield from _within(part)


def _groups(text: str, tokens: Sequence[Token], belongs: _Rule) -> Iterator[list[Token]]:
    group: list[Token] = []
    for token in tokens:
        if group and not belongs(text, group[-1], token):
            yield group
            group = []
        group.append(token)
    if group:
        yield group


def _makes_compound(text: str, left: Token, right: Token) -> bool:
    gap = text[left.end : right.start]
    if _JOINT.fullmatch(gap):
        return True
    return bool(_JOINT_OF_DIGITS.fullmatch(gap)) and text[left.end - 1].isdigit() and text[right.start].isdigit()


def _makes_run(text: str, left: Token, right: Token) -> bool:
    gap = text[left.end : right.start]
    return bool(_SPACES.fullmatch(gap)) and _has_digit(left.spelt) and _has_digit(right.spelt)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _joined(text: str, group: Sequence[Token], *, most: int | None = None) -> Iterator[Token]:
    """Yield the token that the parts make, or the parts where they are too many for one."""
    if len(group) == 1 or (most is not None and len(group) > most):
        yield from group
        return
    start, end = group[0].start, group[-1].end
    opened = start - 1 if most is not None and start and text[start - 1] in _OPENING else start
    yield Token(start=start, end=end, spelt=text[opened:end].lower(), parts=tuple(group))
