"""Chooses what to quote: for each part of the question the best statement, if it is evidence enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcorp.infrastructure.extractive.evidence.chain import best_pair
from ragcorp.infrastructure.extractive.evidence.reading import Reading
from ragcorp.infrastructure.extractive.evidence.scoring import Asked, Scored, answers, asked_for, pair_answers, score
from ragcorp.infrastructure.extractive.evidence.versions import changes, counterparts, later_message, supersedes
from ragcorp.infrastructure.extractive.evidence.weights import NEAR
from ragcorp.infrastructure.extractive.question.parsing import Question, parse_question, parts_of

NEARLY_BEST = 0.12
"""A statement this much below the best may still be the answer where the best lacks what is asked for."""
RIVAL = 0.22
"""A newer version may say the same in other words: how much less it may score than the older one."""
CHANGE_RIVAL = 0.35
"""The same for a statement that says what changed: it seldom repeats what it changes."""
OTHER_WORDS = 0.4
"""How much less of what is asked the newer one may hold in the question's words."""
COMPANION = 0.1
"""How much less the sentence beside the best may score to be quoted with it."""
REUSE = 0.25
"""How much less a statement that is quoted already may score than the best of another part, to answer that too."""
PAIR_MARGIN = 0.1
"""How much more a pair of statements must be worth than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A statement that answers a part of the question.

    ``link`` names what it is about, if it does not itself; ``names`` (folded) are what both share. ``older`` says what
    held before. ``companion`` is the sentence beside it that is nearly as good.
    """

    asked: Asked
    scored: Scored
    link: Scored | None = None
    names: frozenset[str] = frozenset()
    older: Scored | None = None
    companion: Scored | None = None


def choose(question: Question, readings: Sequence[Reading]) -> list[Chosen]:
    """Return one statement a part at most, in the order of the parts; empty where none is evidence enough."""
    chosen: list[Chosen] = []
    for number, part in enumerate(parts_of(question.text)):
        taken = [each.scored.candidate.order for each in chosen]
        found = [best for reading in readings if (best := _best(number, part, reading, taken)) is not None]
        if found:
            best = max(found, key=lambda each: each.scored.score)
            if best.scored.candidate.order not in taken:
                chosen.append(best)
    return chosen


def ranked(asked: Asked, reading: Reading) -> list[Scored]:
    """Return the statements that share a term with the question, best first."""
    found = [
        score(candidate, asked)
        for candidate in reading.candidates
        if any(candidate.close) and (asked.question.asks_clause or not candidate.statement.is_heading)
    ]
    return sorted(found, key=lambda each: (-each.score, each.candidate.order))


def _best(number: int, part: str, reading: Reading, taken: Sequence[tuple[int, int]]) -> Chosen | None:
    asked = asked_for(parse_question(part), reading.terms, reading.part_terms[number])
    found = ranked(asked, reading)
    best = next((each for each in found if each.score >= found[0].score - NEARLY_BEST and answers(each, asked)), None)
    for each in found:
        # one statement may answer two parts
        if best and each.candidate.order in taken and each.score >= best.score - REUSE and answers(each, asked):
            return Chosen(asked=asked, scored=each)
    pair = best_pair(found, asked, reading.abouts)
    if (
        pair
        and pair_answers(pair.answer, pair.link, asked)
        and (best is None or (pair.worth > best.score + PAIR_MARGIN and pair.coverage > best.coverage + PAIR_MARGIN))
    ):
        paired = Chosen(asked=asked, scored=pair.answer, link=pair.link, names=pair.names)
        return _current(paired, found, reading)
    if best is None:
        return None
    chosen = _current(Chosen(asked=asked, scored=best), found, reading)
    return replace(chosen, companion=_companion(chosen, found))


def _current(chosen: Chosen, found: Sequence[Scored], reading: Reading) -> Chosen:
    """Return the choice with the statement that holds now, and what it replaces, if there is such.

    Where no statement of a newer version answers by itself, the one that stands for it there does.
    """
    best, asked = chosen.scored, chosen.asked
    rivals = [
        each
        for each in found
        if each.score >= best.score - _margin(each)
        and each.candidate.order != best.candidate.order
        and answers(each, asked)
        and _same_subject(each, best, asked)
    ]
    current = best
    for rival in rivals:
        if supersedes(rival.candidate, current.candidate, reading.abouts) or _later_word(rival, current, asked):
            current = rival
    if current is best:
        newer = counterparts(best.candidate, reading.candidates, reading.abouts)
        current = max(
            (each for each in (score(one, asked) for one in newer) if not asked.kinds or each.value >= best.value),
            key=lambda each: (each.score, -each.candidate.passage.n),
            default=best,
        )
    if current is not best:
        return replace(chosen, scored=current, older=best, link=None, names=frozenset())
    older = next((each for each in rivals if supersedes(best.candidate, each.candidate, reading.abouts)), None)
    return replace(chosen, older=older)


def _margin(rival: Scored) -> float:
    """Return how much less than the best a statement may score that may take its place."""
    return CHANGE_RIVAL if changes(rival.candidate.statement.text) else RIVAL


def _later_word(new: Scored, old: Scored, asked: Asked) -> bool:
    """Return whether a later message of a thread gives another value of what is asked for."""
    return bool(asked.kinds and new.value >= old.value > 0 and later_message(new.candidate, old.candidate))


def _companion(chosen: Chosen, found: Sequence[Scored]) -> Scored | None:
    """Return the sentence before or after on the same line, if it is nearly as good: they may answer together.

    What the value that is asked for was found in is quoted whatever its score.
    """
    best = chosen.scored
    statement = best.candidate.statement
    if statement.cells or statement.is_heading:
        return None
    beside = [
        each
        for each in found
        if each.candidate.passage.n == best.candidate.passage.n
        and abs(each.candidate.position - best.candidate.position) == 1
        and each.candidate.statement.line == statement.line
    ]
    if best.value < 1 and (holding := next((each for each in beside if each.value >= 1), None)):
        return holding
    return next((each for each in beside if each.score >= best.score - COMPANION and answers(each, chosen.asked)), None)


def _same_subject(one: Scored, other: Scored, asked: Asked) -> bool:
    """Return whether both are about the names of the question alike, and say much the same of what is asked.

    Statements of one document share its names.
    """
    if one.candidate.passage.chunk.document_id != other.candidate.passage.chunk.document_id:
        for index, term in enumerate(asked.terms):
            covered = [each.candidate.credits[index] >= NEAR for each in (one, other)]
            if term.is_name and asked.weights[index] and covered[0] != covered[1]:
                return False
    return other.topic - one.topic <= OTHER_WORDS and (not asked.kinds or one.value >= other.value)
