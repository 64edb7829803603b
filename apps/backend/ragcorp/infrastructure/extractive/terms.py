"""The terms of a question, and how much of them a statement and its surroundings contain.

    coverage = sum of w(t) * c(t) over the question's terms t / sum of w(t)

w(t) is the idf of BM25. c(t) in [0, 1] is the maximum, over the places with the term, of the place's credit times the
match's: 1 for the lexeme itself, ROOT for one with the same root, RELATED for one of the thesaurus.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.answers import Passage
from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.statements import Cell, Statement
from ragcorp.infrastructure.extractive.values import range_match
from ragcorp.infrastructure.extractive.words import UNITS, same_root

GENERIC = "fecha número código importe cantidad tiempo plazo persona nombre hora date number code time day día días"
GENERIC_SHARE = 0.35
"""Weight of a word that names a kind of value, like "date": the answer contains the value instead."""

UNKNOWN_SHARE = 0.35
"""Weight of a word without any form in the passages: usually a paraphrase of the document's word."""

ROOT = 0.85
RELATED = 0.8

HEADER = 0.9
"""A head of a column, which all rows share: a word in the row itself distinguishes it."""
LEAD = 0.75
HEADING = 0.8
NEAR = 0.55
PASSAGE = 0.45
ABOUT, ABOUT_NAME = 0.55, 0.85
"""Title, path and opening of the document: they distinguish similar documents, so names count more there."""
DOCUMENT, DOCUMENT_NAME = 0.25, 0.5

MAX_ROW = 250
"""Ranges of numbers are looked for in texts up to this length, as rows of tables have with the heads of columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A lexeme of the question, or a ``phrase`` (folded) that is matched in the text itself.

    ``roots`` are lexemes of the texts with the same root, ``related`` those of the thesaurus. A phrase is an identifier
    or a number with its word: "zone 2" does not match "zone 3".
    """

    lexeme: str = ""
    phrase: str = ""
    roots: frozenset[str] = frozenset()
    related: frozenset[str] = frozenset()
    weight: float = 1.0
    is_name: bool = False

    @property
    def is_code(self) -> bool:
        """Return whether the term is an identifier: letters and digits, or digits with marks between them."""
        return bool(self.phrase) and " " not in self.phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A text in the two forms that terms are matched in."""

    lexemes: frozenset[str] = frozenset()
    plain: str = ""

    @staticmethod
    def of(text: str, lexemes: frozenset[str]) -> Words:
        return Words(lexemes=lexemes, plain=folded_in_place(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The texts around the statements of a passage. ``document`` are lexemes and phrases anywhere in the document."""

    heading: Words
    passage: Words
    about: Words
    document: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement with the credits of the terms: ``credits`` anywhere, ``own`` in the statement, ``close`` near it."""

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

    @property
    def heading(self) -> str:
        path = self.passage.chunk.heading_path
        return self.statement.heading or (path[-1] if path else "")


def weight(*, chunks: int, frequency: int) -> float:
    """Return the idf of BM25 for a lexeme in ``frequency`` of ``chunks`` chunks."""
    return math.log(1 + (max(chunks, frequency) - frequency + 0.5) / (frequency + 0.5))


def make_terms(
    lexemes: frozenset[str],
    *,
    names: frozenset[str],
    generic: frozenset[str],
    groups: Sequence[frozenset[str]],
    phrases: Sequence[str],
    vocabulary: frozenset[str],
    frequencies: Mapping[str, int],
    chunks: int,
) -> list[Term]:
    """Return the terms, lexemes first, then phrases. ``vocabulary``: the lexemes of the passages."""
    rare = weight(chunks=chunks, frequency=1)
    terms: list[Term] = []
    for lexeme in sorted(lexemes):
        term = Term(
            lexeme=lexeme,
            roots=frozenset(other for other in vocabulary if same_root(lexeme, other)),
            related=frozenset().union(*(group for group in groups if lexeme in group)) - {lexeme},
            is_name=lexeme in names,
        )
        frequency = frequencies.get(lexeme, 0)
        occurs = frequency or not vocabulary.isdisjoint(term.roots | term.related)
        factor = GENERIC_SHARE if lexeme in generic else 1.0 if occurs or term.is_name else UNKNOWN_SHARE
        terms.append(replace(term, weight=weight(chunks=chunks, frequency=max(frequency, 1)) * factor))
    return terms + [
        Term(phrase=phrase, weight=rare * (1.0 if " " not in phrase else 0.7), is_name=True) for phrase in phrases
    ]


def match(term: Term, words: Words) -> float:
    """Return how well a term matches a text: 1, ROOT, RELATED or 0."""
    if term.phrase:
        return 1.0 if contains_phrase(words.plain, term.phrase) else 0.0
    if term.lexeme in words.lexemes:
        return 1.0
    if not term.roots.isdisjoint(words.lexemes):
        return ROOT
    return 0.0 if term.related.isdisjoint(words.lexemes) else RELATED


def contains_phrase(plain: str, phrase: str) -> bool:
    """Return whether folded text contains a phrase as a whole: REQ-2024-0010 does not contain REQ-2024-001."""
    if phrase.partition(" ")[0] not in plain:
        return False
    pattern = r"\s+".join(_written(word) for word in phrase.split())
    return re.search(rf"(?<![\w]){pattern}(?!\w|[-/]\w|[.,]\d)", plain) is not None


def _written(word: str) -> str:
    """Return a pattern for a word, or for the symbol of a unit."""
    return f"(?:{word}|{re.escape(UNITS[word])})" if word in UNITS else re.escape(word)


def cell_match(phrase: str, cells: Iterable[Cell]) -> float:
    """Return 1 if a cell is the number of the phrase "15 noches" and the noun heads its column."""
    number, _, noun = phrase.partition(" ")
    return float(
        any(
            folded_in_place(cell.text) == number
            and any(same_root(noun, word) for word in folded_in_place(cell.header).split())
            for cell in cells
        )
    )


def share(credits_of_terms: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean of the credits; 0 where nothing weighs."""
    total = math.fsum(weights)
    weighted = (credit * weight for credit, weight in zip(credits_of_terms, weights, strict=True))
    return math.fsum(weighted) / total if total else 0.0


def around_credit(term: Term, around: Surroundings) -> float:
    """Return the credit of a term in a passage, the same for all its statements."""
    about = ABOUT_NAME if term.is_name else ABOUT
    document = DOCUMENT_NAME if term.is_name else DOCUMENT
    return max(
        HEADING * match(term, around.heading),
        PASSAGE * match(term, around.passage),
        about * match(term, around.about),
        document if (term.phrase or term.lexeme) in around.document else 0.0,
    )


def own_credit(term: Term, words: Words, *, row: Words, cells: Iterable[Cell]) -> float:
    """Return the credit of a term in the statement itself; ``words`` include the heads of the columns of a ``row``."""
    credit = max(match(term, row), HEADER * match(term, words))
    if not credit and term.phrase and len(words.plain) <= MAX_ROW:
        return max(range_match(term.phrase, words.plain), cell_match(term.phrase, cells))
    return credit


def close_credit(term: Term, *, lead: Words, heading: Words, near: Iterable[Words]) -> float:
    """Return the credit of a term around a statement: in its lead, its heading and the sentences ``near`` it."""
    return max(
        LEAD * match(term, lead) if lead.plain else 0.0,
        NEAR * match(term, heading) if heading.plain else 0.0,
        *(NEAR * match(term, words) for words in near),
    )
