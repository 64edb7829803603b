"""Highlights the words of a passage that match a query, by the lexemes of the index. Pure.

A passage is split into words, compounds (REQ-2024-001), and runs of tokens with digits and spaces (91 234 56 78). A
part is marked if one of its lexemes is wanted; a compound or run is marked whole if a wanted lexeme is in none of its
parts. So the query REQ-2024-001 marks that code whole, but only REQ and 2024 of REQ-2024-002.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.application.resilience.source_reports import logged_failure
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.sources import SourceResult
from ragcorp.domain.ports.text import TextAnalyzer
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import Highlight, SearchHit
from ragcorp.domain.search.sources import GREP
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
        own = lexemes.get(token.spelt, frozenset())
        of_parts = frozenset[str]().union(*(lexemes.get(part.spelt, frozenset()) for part in _within(token)))
        if (own - of_parts) & wanted:
            yield Highlight(start=token.start, end=token.end)
        else:
            yield from matching(token.parts, lexemes, wanted)


def literal(text: str, terms: Sequence[str]) -> Iterator[Highlight]:
    """Yield the literal occurrences of the terms, ignoring case, accents and typographic variants."""
    folded, places = folded_with_places(text.translate(_ALIKE))
    for term in terms:
        search_lexemes, _ = folded_with_places(term.translate(_ALIKE))
        start = folded.find(search_lexemes) if search_lexemes else -1
        while start >= 0:
            after = start + len(search_lexemes)
            end = places[after] if after < len(places) else len(text)  # accents of their own belong to their letter
            if end > places[start]:
                yield Highlight(start=places[start], end=end)
            start = folded.find(search_lexemes, after)


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


HIGHLIGHT = "highlight"
"""The name of the highlighter in reports."""


_Analysis = tuple[Lexemes, frozenset[str]]
"""Text analysis in one language: the lexemes of each spelling, and the wanted lexemes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlighter:
    """Analyses the distinct words of the shown passages, with one call for each language."""

    analyzer: TextAnalyzer

    async def mark(
        self, hits: tuple[SearchHit, ...], results: Sequence[SourceResult], plan: QueryPlan
    ) -> tuple[tuple[SearchHit, ...], tuple[SourceReport, ...]]:
        """Mark words of the query, or of a source's reading of it, and literal terms; report a failed analysis."""
        answers = [result.answer for result in results if result.answer is not None]
        search_lexemes = frozenset(term.lexeme for answer in answers for term in answer.terms)
        literals = tuple(dict.fromkeys(term for answer in answers for term in answer.literals))
        tokens = [tokens_of(hit.chunk.content) for hit in hits]
        started = time.perf_counter()
        try:
            look = self._analyses(hits, tokens, plan.request.query, search_lexemes)
            analyses = await run_until(plan.deadline, look)
        except (TimeoutError, StorageUnavailableError) as error:
            return hits, (logged_failure(HIGHLIGHT, error, started),)
        marked = tuple(
            replace(hit, highlights=_marks(hit, of_hit, analyses[hit.chunk.language], literals))
            for hit, of_hit in zip(hits, tokens, strict=True)
        )
        return marked, ()

    async def _analyses(
        self, hits: Sequence[SearchHit], tokens: Sequence[Sequence[Token]], query: str, search_lexemes: frozenset[str]
    ) -> dict[str, _Analysis]:
        by_language: dict[str, dict[str, None]] = {}
        for hit, of_hit in zip(hits, tokens, strict=True):
            by_language.setdefault(hit.chunk.language, {}).update(dict.fromkeys(spellings(of_hit)))
        analyses: dict[str, _Analysis] = {}
        for language, spelt in by_language.items():
            of_query, *lexemes = await self.analyzer.lexemes([query, *spelt], language=language)
            analyses[language] = (dict(zip(spelt, lexemes, strict=True)), search_lexemes | of_query)
        return analyses


def _marks(
    hit: SearchHit, tokens: Sequence[Token], analysis: _Analysis, literals: Sequence[str]
) -> tuple[Highlight, ...]:
    marks = list(matching(tokens, *analysis))
    if any(part.source == GREP for part in hit.sources):
        marks += literal(hit.chunk.content, literals)
    return disjoint(marks)
