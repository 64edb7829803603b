"""Scores statements for one part of a question, and says whether the best is an answer.

    score = (1 - VALUE) * ((1 - TOPIC) * coverage + TOPIC * topic) + VALUE * value + prior - penalty

coverage is over all terms of the part, anywhere in passage or document; topic over those that are no names, in the
statement or close to it; value says whether the asked kind of value stands there (VALUE is 0 where none is asked for);
prior = PRIOR / (1 + (rank - 1) / 4) for the passage's rank.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.evidence.polarity import says_yes_or_no
from ragcorp.infrastructure.extractive.evidence.terms import Term
from ragcorp.infrastructure.extractive.evidence.type_match import value_strength
from ragcorp.infrastructure.extractive.evidence.weights import Candidate, share
from ragcorp.infrastructure.extractive.question.parsing import Question
from ragcorp.infrastructure.extractive.vocabulary.values import ValueKind, found_values

VALUE = 0.22
TOPIC = 0.3
PRIOR = 0.08
CODE = 0.16
FOCUS = 0.08
"""Added where the statement itself holds an identifier of the question, or the noun that is asked about."""
DECIDES = 0.18
"""Added, for a question of yes or no, to a statement that begins with one of them."""
LENGTH = 0.05
"""Taken from a statement of 400 characters, and in proportion: what says more says it less clearly."""
OTHER_PART, OTHER_PART_NAME = 0.3, 0.6
"""What a term of another part of the question weighs: its subject may stand there."""

_SHORT = 18
_EXTRA = re.compile(r"\b(?:adicional(?:es)?|extra|suplementari[oa]s?|additional|provisional|excepcional(?:es)?)\b")
_HEAD_LINE = re.compile(r"(?:de|para|cc|fecha|asunto|from|to|date|subject|titulo|cliente|saludos|gracias)\b\s*[:,]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One part of a question. ``weights`` go by the index of the term; ``focus`` is the term that is asked about.

    ``own_terms`` are those that stand in this part.
    """

    question: Question
    plain: str
    kinds: frozenset[ValueKind]
    terms: Sequence[Term]
    weights: Sequence[float]
    own_terms: frozenset[int]
    focus: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    candidate: Candidate
    coverage: float
    topic: float
    value: float
    score: float


def asked_for(question: Question, terms: Sequence[Term], own_terms: frozenset[int]) -> Asked:
    return Asked(
        question=question,
        plain=folded_in_place(question.text),
        kinds=question.kinds,
        terms=terms,
        weights=[
            term.weight * (1.0 if index in own_terms else OTHER_PART_NAME if term.is_name else OTHER_PART)
            for index, term in enumerate(terms)
        ],
        own_terms=own_terms,
        focus=_term_of(question.focus, terms) if question.focus else None,
    )


def _term_of(noun: str, terms: Sequence[Term]) -> int | None:
    for index, term in enumerate(terms):
        stem = folded_in_place(term.lexeme)
        if len(stem) >= 3 and noun.startswith(stem[: max(3, len(stem) - 1)]) and len(noun) - len(stem) <= 5:
            return index
    return None


def score(candidate: Candidate, asked: Asked) -> Scored:
    coverage = share(candidate.credits, asked.weights)
    topical = [index for index, term in enumerate(asked.terms) if not term.is_name]
    topic = share([candidate.close[i] for i in topical], [asked.weights[i] for i in topical]) if topical else coverage
    value = value_strength(asked.plain, asked.kinds, candidate.statement, candidate.following) if asked.kinds else 0.0
    evidence = (1 - TOPIC) * coverage + TOPIC * topic
    total = (1 - VALUE) * evidence + VALUE * value if asked.kinds else evidence
    return Scored(
        candidate=candidate,
        coverage=coverage,
        topic=topic,
        value=value if asked.kinds else 1.0,
        score=total
        + PRIOR / (1 + (candidate.passage.n - 1) / 4)
        + _bonus(candidate, asked)
        - _penalty(candidate, asked),
    )


def _bonus(candidate: Candidate, asked: Asked) -> float:
    coded = any(term.is_code and own for term, own in zip(asked.terms, candidate.own, strict=True))
    focused = candidate.own[asked.focus] if asked.focus is not None else 0.0
    decides = asked.question.asks_yes_or_no and says_yes_or_no(candidate.statement) is not None
    return CODE * coded + FOCUS * focused + DECIDES * decides


def _penalty(candidate: Candidate, asked: Asked) -> float:
    text = candidate.statement.text
    plain = folded_in_place(text)
    penalty = LENGTH * min(1.0, len(text) / 400)
    if candidate.statement.introduces:
        penalty += 0.2
    elif _HEAD_LINE.match(plain):
        penalty += 0.15
    elif len(text) < _SHORT and not any(map(str.isdigit, text)):
        penalty += 0.1
    if asked.kinds and ValueKind.AMOUNT not in asked.kinds and found_values(text, ValueKind.AMOUNT):
        penalty += 0.06
    if _EXTRA.search(plain) and not _EXTRA.search(asked.plain):
        penalty += 0.06
    return penalty


STRICT = frozenset(ValueKind) - {ValueKind.CODE, ValueKind.NAME, ValueKind.VERSION}
MIN_VALUE = 0.4
MIN_SCORE = 0.6
MIN_COVERAGE = 0.5
MIN_FOCUS = 0.4
HELD = 0.4
MAX_LACKING = 0.6
"""Most of what is asked, names apart, that a passage may lack."""
MIN_TOPICAL = 0.3
"""Share of what is asked below which what is no name tells nothing: a name with a word of asking beside it."""
COVERED_NAME = 0.54
WEAK = 0.5
MAX_UNKNOWN_NAMES = 0.25
"""Most of the question's weight that names may have which the document does not hold anywhere."""


def answers(scored: Scored, asked: Asked) -> bool:
    """Return whether a statement is evidence enough: its score, names and codes, the value and what is asked about."""
    candidate = scored.candidate
    if (
        scored.score < MIN_SCORE
        or scored.coverage < MIN_COVERAGE
        or unknown_names(candidate, asked) > MAX_UNKNOWN_NAMES
    ):
        return False
    if scored.value < MIN_VALUE and asked.kinds and (asked.kinds <= STRICT or ValueKind.PERSON in asked.kinds):
        return False
    if _lacking(candidate, asked) > MAX_LACKING or _of_another_fact(candidate, asked):
        return False
    if asked.focus is not None and not asked.question.asks_clause:
        return candidate.credits[asked.focus] >= MIN_FOCUS
    return True


def _lacking(candidate: Candidate, asked: Asked) -> float:
    """Return the share of the weight of terms that are no names which stand nowhere near."""
    topical = [index for index, term in enumerate(asked.terms) if not term.is_name and index in asked.own_terms]
    held = [1.0 if candidate.credits[index] >= HELD else 0.0 for index in topical]
    weights = [asked.weights[index] for index in topical]
    if not topical or math.fsum(weights) < MIN_TOPICAL * math.fsum(asked.weights):
        return 0.0
    return 1 - share(held, weights)


def _of_another_fact(candidate: Candidate, asked: Asked) -> bool:
    """Return whether it is a fact that says nothing but names of what is asked: its names stand in other facts too."""
    topical = [index for index, term in enumerate(asked.terms) if not term.is_name and index in asked.own_terms]
    return candidate.statement.fact is not None and bool(topical) and not any(candidate.own[i] for i in topical)


def pair_answers(answer: Scored, link: Scored, asked: Asked) -> bool:
    """Return whether two statements together are evidence enough."""
    if asked.focus is not None and answer.candidate.credits[asked.focus] < MIN_FOCUS:
        return False
    both = tuple(map(max, answer.candidate.credits, link.candidate.credits))
    joined = replace(answer, candidate=replace(answer.candidate, credits=both), coverage=share(both, asked.weights))
    return answers(joined, asked)


def unknown_names(candidate: Candidate, asked: Asked) -> float:
    """Return the share of the question's weight of names that the document lacks; 1 if it lacks a code.

    A name counts WEAK of itself that stands in the document, but neither by the statement nor where the document says
    what it is about.
    """
    share_of = 0.0
    for index, term in enumerate(asked.terms):
        credit = candidate.credits[index]
        if not term.is_name or not asked.weights[index] or credit >= COVERED_NAME:
            continue
        if not credit and term.is_code and index in asked.own_terms:
            return 1.0
        share_of += asked.weights[index] * (WEAK if credit else 1.0)
    return share_of / (math.fsum(asked.weights) or 1.0)
