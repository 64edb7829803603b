"""Lexical evidence: the terms of a query, their matches in a passage, and its scores, lexeme by lexeme.

    saturation(t, d) = tf (k1 + 1) / (tf + k1 (1 - b + b dl / avgdl))
    w(t)             = idf(t) * similarity(t)        (1 except for the replacement of an unknown lexeme)
    bm25(q, d)       = sum over t of  w(t) * saturation(t, d)
    share(q, d)      = sum over t of  w(t)^2 * saturation(t, d)  /  ((k1 + 1) * sum over t of idf(t)^2)

Robertson, Zaragoza: The probabilistic relevance framework: BM25 and beyond, 2009. The share lies in [0, 1]: unknown
terms stay in its denominator, so a passage with the only known word of a question does not look like its answer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ragcorp.domain.retrieval import ScoreType


class TermKind(StrEnum):
    """Origin of a query's lexeme: a word, a compound as typed, a compound without separators, or a part of one."""

    WORD = "word"
    WHOLE = "whole"
    JOINED = "joined"
    PART = "part"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerm:
    """A lexeme of the query. It may replace the unknown lexeme ``typed``, by trigram ``similarity`` in ]0, 1]."""

    word: str
    lexeme: str
    kind: TermKind
    document_frequency: int
    idf: float
    typed: str | None = None
    similarity: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LexemeMatch:
    """A lexeme in a passage with its contribution to the score; ``idf`` is None if the caller may not know it."""

    lexeme: str
    tf: int
    idf: float | None
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalEvidence:
    """The matches in a passage of ``length`` lexemes (dl); their contributions add up to the score."""

    length: int
    matches: tuple[LexemeMatch, ...]


K1 = 1.2
B = 0.75

MIN_EVIDENCE_SHARE = 0.2
"""Chunks with a smaller share of a question's evidence are noise next to a dense list (figures: docs/retrieval.md)."""


def saturation(tf: int, length: int, average_length: float) -> float:
    """Return the BM25 weight of a term frequency, in [0, k1 + 1[."""
    if tf == 0 or average_length == 0:
        return 0.0
    return tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / average_length))


def term_factors(terms: Sequence[QueryTerm], *, score_type: str) -> list[float]:
    """Return the factor of each term's saturation, in a score of kind bm25 or evidence_share."""
    weights = [term.idf * term.similarity for term in terms]
    if score_type == ScoreType.BM25:
        return weights
    mass = evidence_mass(terms)
    return [weight**2 / mass if mass else 0.0 for weight in weights]


def lexical_evidence(
    terms: Sequence[QueryTerm],
    factors: Sequence[float],
    counts: Mapping[str, int],
    *,
    length: int,
    average_length: float,
    with_idf: bool = True,
) -> LexicalEvidence:
    """Return the contributions of ``counts`` (tf by lexeme) of a passage to the score with these ``factors``."""
    return LexicalEvidence(
        length=length,
        matches=tuple(
            LexemeMatch(
                lexeme=term.lexeme,
                tf=counts[term.lexeme],
                idf=term.idf if with_idf else None,
                contribution=factor * saturation(counts[term.lexeme], length, average_length),
            )
            for term, factor in zip(terms, factors, strict=True)
            if counts.get(term.lexeme)
        ),
    )


def evidence_mass(terms: Sequence[QueryTerm]) -> float:
    """Return the share's denominator: the evidence of a passage that is full of every term."""
    return (K1 + 1) * math.fsum(term.idf**2 for term in terms)


def total(evidence: LexicalEvidence) -> float:
    """Return the score that the contributions add up to."""
    return math.fsum(match.contribution for match in evidence.matches)
