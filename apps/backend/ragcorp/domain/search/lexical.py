"""Values of lexical evidence: the terms of a query, and their matches in a passage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TermKind(StrEnum):
    """Origin of a query's lexeme: a word, a compound as typed, a compound without separators, or a part of one."""

    WORD = "word"
    WHOLE = "whole"
    JOINED = "joined"
    PART = "part"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerm:
    """A lexeme that is looked for. ``idf`` = ln(1 + (N - df + .5) / (df + .5)).

    ``typed`` is the unknown lexeme that ``lexeme`` stands in for, by trigram ``similarity`` in ]0, 1].
    """

    word: str
    lexeme: str
    kind: TermKind
    document_frequency: int
    idf: float
    typed: str | None = None
    similarity: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LexemeMatch:
    """A lexeme of the query in a passage: how often (``tf``), its ``idf``, and its summand of the list's score.

    ``idf`` is None for a caller who may not know how many passages hold the lexeme.
    """

    lexeme: str
    tf: int
    idf: float | None
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalEvidence:
    """What a passage holds of a query; ``length`` is its number of lexeme occurrences (dl).

    The contributions add up to the list's score.
    """

    length: int
    matches: tuple[LexemeMatch, ...]
