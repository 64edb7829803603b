"""A question's terms: its lexemes, its identifiers, and its numbers with the word that they number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.question.words import (
    HELPING_WORDS,
    QUESTION_WORDS,
    without_question_words,
)
from ragcorp.infrastructure.extractive.vocabulary.words import same_root

GENERIC = "fecha número código importe cantidad tiempo plazo persona nombre hora date number code time day día días"
GENERIC_SHARE = 0.35
"""What names a kind of value, as "date" does, says little: the value itself is looked for."""

UNKNOWN_SHARE = 0.35
"""A word that the passages hold in no form rather paraphrases the document's than asks for something else."""

_IDENTIFIER = re.compile(r"(?<!\w)(?=[\w./-]{0,80}\d)(?=[\w./-]{0,80}[^\W\d_]|\d+[./-]\d)[\w]+(?:[./-]\w+)*")
_AMOUNT = re.compile(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?|\d+,\d+")
_NUMBERED = re.compile(r"([^\W\d_]{2,})\s+(\d{1,2})\b(?![-/.,]?\w|\s+[^\W\d_]{2,}s\b)")
"""A number that a plural follows counts it, whatever stands before: exige 15 noches."""

_NUMBER_OF = re.compile(r"(?<![\w./,-])(\d[\d.,]*)\s+([^\W\d_]{2,})")
_LONG_NUMBER = re.compile(r"(?<![\w./,-])\d{3,}(?![-/.,]?\w)")
_EURO_SIGN = re.compile(r"(\d)\s?€")
CURRENCIES = frozenset({"euro", "euros", "dolares"})
_YEAR = re.compile(r"(?:19|20)\d{2}")
_DIGITS = re.compile(r"(?<!\w)\d[\d.,]*(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A lexeme of the question, or a ``phrase`` (folded) that is looked up in the text itself.

    ``roots`` are lexemes of its root that the texts hold, ``related`` those that the thesaurus names beside it.
    A phrase is an identifier, or a number with the word beside it: what stands in "zone 2" is not in "zone 3".
    """

    lexeme: str = ""
    phrase: str = ""
    roots: frozenset[str] = frozenset()
    related: frozenset[str] = frozenset()
    weight: float = 1.0
    is_name: bool = False

    @property
    def is_code(self) -> bool:
        """Say whether it is an identifier: letters and digits, or digits with marks between them."""
        return bool(self.phrase) and " " not in self.phrase


def weight(*, chunks: int, frequency: int) -> float:
    """Return the idf of BM25 for a lexeme that stands in ``frequency`` of ``chunks`` chunks."""
    return math.log(1 + (max(chunks, frequency) - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A question as it is analysed: ``words`` for the analyser, ``phrases`` for the text itself."""

    words: str
    phrases: tuple[str, ...]


def wording_of(question: str) -> Wording:
    words = without_question_words(question)
    plain = folded_in_place(words)
    phrases = [found.group() for found in _IDENTIFIER.finditer(plain) if not _AMOUNT.fullmatch(found.group())]
    words = _IDENTIFIER.sub(lambda found: found.group() if _AMOUNT.fullmatch(found.group()) else " ", words)
    asked = _EURO_SIGN.sub(r"\1 euros", folded_in_place(question))
    phrases += [
        f"{word} {number}" for word, number in _NUMBERED.findall(asked) if word not in HELPING_WORDS | QUESTION_WORDS
    ]
    numbered = {phrase.rpartition(" ")[2] for phrase in phrases}
    phrases += [
        f"{number} {noun}"
        for number, noun in _NUMBER_OF.findall(asked)
        if number not in numbered and noun not in HELPING_WORDS - CURRENCIES and not _YEAR.fullmatch(number)
    ]
    taken = {word for phrase in phrases if " " in phrase for word in phrase.split() if word[0].isdigit()}
    phrases += [number for number in _LONG_NUMBER.findall(asked) if number not in taken and not _YEAR.fullmatch(number)]
    words = _DIGITS.sub(lambda found: found.group() if _YEAR.fullmatch(found.group()) else " ", words)
    return Wording(words=words, phrases=tuple(dict.fromkeys(phrases)))


def make_terms(
    asked: frozenset[str],
    *,
    names: frozenset[str],
    generic: frozenset[str],
    groups: Sequence[frozenset[str]],
    phrases: Sequence[str],
    vocabulary: frozenset[str],
    frequencies: Mapping[str, int],
    chunks: int,
) -> list[Term]:
    """Return the terms in a fixed order, lexemes first. A phrase weighs as a lexeme that stands in one chunk.

    ``vocabulary`` are the lexemes of the passages.
    """
    rare = weight(chunks=chunks, frequency=1)
    lexemes: list[Term] = []
    for lexeme in sorted(asked):
        term = Term(
            lexeme=lexeme,
            roots=frozenset(other for other in vocabulary if same_root(lexeme, other)),
            related=frozenset().union(*(group for group in groups if lexeme in group)) - {lexeme},
            is_name=lexeme in names,
        )
        frequency = frequencies.get(lexeme, 0)
        known = frequency or not vocabulary.isdisjoint(term.roots | term.related)
        given = weight(chunks=chunks, frequency=max(frequency, 1))
        given *= GENERIC_SHARE if lexeme in generic else 1.0 if known or term.is_name else UNKNOWN_SHARE
        lexemes.append(replace(term, weight=given))
    return lexemes + [
        Term(phrase=phrase, weight=rare * (1.0 if " " not in phrase else 0.7), is_name=True) for phrase in phrases
    ]
