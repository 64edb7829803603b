"""How much of a question a statement and what surrounds it hold.

    coverage = sum of w(t) * c(t) over the question's terms t / sum of w(t)

w(t) is the idf of BM25. c(t) in [0, 1] is the best, over the places where the term stands, of the place's credit times
the match's: 1 for the lexeme itself, ROOT for one of the same root, RELATED for one of the thesaurus.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragcorp.domain.answers import Passage
from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.evidence.terms import Term
from ragcorp.infrastructure.extractive.passages.statements import Cell, Statement
from ragcorp.infrastructure.extractive.vocabulary.ranges import range_match
from ragcorp.infrastructure.extractive.vocabulary.words import same_root

ROOT = 0.85
RELATED = 0.8

LEAD = 0.75
MAX_ROW = 250
"""A row of a table, with the heads of its columns, is no longer: ranges of numbers are looked for in such."""
HEADING = 0.8
NEAR = 0.55
PASSAGE = 0.45
ABOUT, ABOUT_NAME = 0.55, 0.85
"""Title, path and opening of the document: they tell look-alike documents apart, so a name counts more there."""
DOCUMENT, DOCUMENT_NAME = 0.25, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A text as terms are looked up in it."""

    lexemes: frozenset[str] = frozenset()
    plain: str = ""

    @staticmethod
    def of(text: str, lexemes: frozenset[str]) -> Words:
        return Words(lexemes=lexemes, plain=folded_in_place(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands around the statements of a passage. ``document`` are lexemes and phrases found anywhere in it."""

    heading: Words
    passage: Words
    about: Words
    document: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement with the credit of each term, by index: anywhere, in the statement itself, and in it or beside it."""

    passage: Passage
    position: int
    statement: Statement
    following: Statement | None
    credits: tuple[float, ...]
    own: tuple[float, ...]
    close: tuple[float, ...]

    @property
    def order(self) -> tuple[int, int]:
        return self.passage.n, self.position


def match(term: Term, words: Words) -> float:
    """Return how well a term stands in a text: 1, ROOT, RELATED or 0."""
    if term.phrase:
        return 1.0 if holds_phrase(words.plain, term.phrase) else 0.0
    if term.lexeme in words.lexemes:
        return 1.0
    if not term.roots.isdisjoint(words.lexemes):
        return ROOT
    return 0.0 if term.related.isdisjoint(words.lexemes) else RELATED


def holds_phrase(plain: str, phrase: str) -> bool:
    """Return whether folded text holds a phrase as a whole: REQ-2024-001 does not stand in REQ-2024-0010."""
    if phrase.partition(" ")[0] not in plain:
        return False
    pattern = r"\s+".join(re.escape(word) for word in phrase.split())
    return re.search(rf"(?<![\w]){pattern}(?!\w|[-/]\w|[.,]\d)", plain) is not None


def cell_match(phrase: str, cells: Iterable[Cell]) -> float:
    """Return 1 if a cell is the number of a phrase and its column is headed by the noun: "15 noches"."""
    number, _, noun = phrase.partition(" ")
    return float(
        any(
            folded_in_place(cell.text) == number
            and any(same_root(noun, word) for word in folded_in_place(cell.header).split())
            for cell in cells
        )
    )


def share(given: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean of what is ``given``; 0 where nothing weighs."""
    total = math.fsum(weights)
    return math.fsum(credit * each for credit, each in zip(given, weights, strict=True)) / total if total else 0.0


def around_credit(term: Term, around: Surroundings) -> float:
    """Return the credit that a term has in a passage, whichever the statement."""
    about = ABOUT_NAME if term.is_name else ABOUT
    document = DOCUMENT_NAME if term.is_name else DOCUMENT
    return max(
        HEADING * match(term, around.heading),
        PASSAGE * match(term, around.passage),
        about * match(term, around.about),
        document if (term.phrase or term.lexeme) in around.document else 0.0,
    )


def weigh(
    passage: Passage,
    position: int,
    found: Sequence[Statement],
    *,
    terms: Sequence[Term],
    own: Words,
    lead: Words,
    near: Iterable[Words],
    heading: Words,
    shared: Sequence[float],
) -> Candidate:
    """Return a statement with its credits; ``shared`` are those of its passage."""
    statement = found[position]
    neighbours = list(near)
    owned: list[float] = []
    close: list[float] = []
    anywhere: list[float] = []
    for term, around in zip(terms, shared, strict=True):
        inside = match(term, own)
        if not inside and term.phrase and len(own.plain) <= MAX_ROW:
            inside = max(range_match(term.phrase, own.plain), cell_match(term.phrase, statement.cells))
        beside = max(
            inside,
            LEAD * match(term, lead) if lead.plain else 0.0,
            NEAR * match(term, heading) if heading.plain else 0.0,
            max((NEAR * match(term, words) for words in neighbours), default=0.0),
        )
        owned.append(inside)
        close.append(beside)
        anywhere.append(max(beside, around))
    return Candidate(
        passage=passage,
        position=position,
        statement=statement,
        following=found[position + 1] if position + 1 < len(found) else None,
        credits=tuple(anywhere),
        own=tuple(owned),
        close=tuple(close),
    )
