"""Selects what to quote: for each part of the question the best statement, or the best pair, if it answers.

In a pair two statements answer together: a contract names its plan, and a tariff that plan's price. They share a name
or a code that the question lacks. A pair scores

    score(answer) + GAIN * (weight of the terms that only the link covers / weight of all)
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.domain.text.word_lists import word_set
from ragcorp.infrastructure.extractive.question import Question
from ragcorp.infrastructure.extractive.reading import Reading
from ragcorp.infrastructure.extractive.scoring import Part, Scored, answers, pair_answers, part_of, score
from ragcorp.infrastructure.extractive.statements import Statement
from ragcorp.infrastructure.extractive.terms import NEAR, Candidate
from ragcorp.infrastructure.extractive.versions import changes, counterparts, later_message, supersedes

NEARLY_BEST = 0.12
"""Greatest difference to the best score of a statement that may answer where the best does not."""
RIVAL = 0.22
"""Greatest difference to the score of an older version: a newer one may use other words."""
CHANGE_RIVAL = 0.35
"""The same for a statement that announces a change: it seldom repeats what it changes."""
OTHER_WORDS = 0.4
"""Greatest difference in the topical terms between a statement and its newer version."""
COMPANION = 0.1
"""Greatest difference to the best score of the neighbouring sentence that is quoted with it."""
REUSE = 0.25
"""Greatest difference to the best score of another part where a quoted statement answers that part too."""
PAIR_MARGIN = 0.1
"""Least difference in score and coverage between a pair and the best single statement."""

GAIN = 0.7
MIN_GAIN = 0.1
COVERED = 0.6
"""Least credit of a covered term; a term that is only somewhere in the document has less."""
CANDIDATES = 40

_WORD = r"[A-ZÁÉÍÓÚÜÑ][\wáéíóúüñç]+"
_NAME = re.compile(rf"{_WORD}(?:\s+(?:\d{{1,3}}\b|{_WORD}))+|(?<=[\w,;:|»”(] ){_WORD}|\b[A-Za-z]+-\d[\w-]*")
_COMMAND = re.compile(r"\b[a-z]{2,12}(?: [a-z]{2,12})? --[a-z]+|`[^`]+`")
_COMMON = word_set(
    "el la los las un una en por para con sin si no al del de se es su que como cuando cliente operador contrato "
    "fecha responsable asunto articulo clausula acuerdo precio servicio total sí the"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A statement that answers a part of the question.

    ``link`` connects it with the question through the ``names`` (folded) that both contain. ``older`` is the statement
    that it replaces. ``companion`` is a neighbouring sentence that is nearly as good.
    """

    part: Part
    scored: Scored
    link: Scored | None = None
    names: frozenset[str] = frozenset()
    older: Scored | None = None
    companion: Scored | None = None


def choose(parts: Sequence[Question], readings: Sequence[Reading]) -> list[Chosen]:
    """Return at most one statement per part, in the order of the parts; empty where none is evidence enough."""
    chosen: list[Chosen] = []
    for number, question in enumerate(parts):
        taken = [choice.scored.candidate.order for choice in chosen]
        of_readings = [
            best
            for reading in readings
            if (best := _best(part_of(question, reading.terms, reading.part_terms[number]), reading, taken)) is not None
        ]
        if of_readings:
            best = max(of_readings, key=lambda choice: choice.scored.score)
            if best.scored.candidate.order not in taken:
                chosen.append(best)
    return chosen


def _ranked(part: Part, reading: Reading) -> list[Scored]:
    """Return the statements near a term of the question, best first."""
    ranked = [
        score(candidate, part)
        for candidate in reading.candidates
        if any(candidate.close) and (part.question.asks_clause or not _is_heading(candidate, part))
    ]
    return sorted(ranked, key=lambda scored: (-scored.score, scored.candidate.order))


def _is_heading(candidate: Candidate, part: Part) -> bool:
    """Return whether the statement is a heading, or looks like one and lacks the focus of the question."""
    lacks_focus = part.focus is not None and not candidate.own[part.focus]
    return candidate.statement.is_heading or (candidate.statement.is_title and lacks_focus)


def _best(part: Part, reading: Reading, taken: Sequence[tuple[int, int]]) -> Chosen | None:
    ranked = _ranked(part, reading)
    best = next(
        (
            scored
            for scored in ranked
            if scored.score >= ranked[0].score - NEARLY_BEST
            and answers(scored, part)
            and not _is_ambiguous_row(scored, ranked)
        ),
        None,
    )
    for scored in ranked:
        # one statement may answer two parts
        if best and scored.candidate.order in taken and scored.score >= best.score - REUSE and answers(scored, part):
            return Chosen(part=part, scored=scored)
    pair = _best_pair(ranked, part, reading.abouts)
    if pair:
        paired, gain = pair
        is_better = best is None or (
            paired.scored.score + GAIN * gain > best.score + PAIR_MARGIN
            and paired.scored.coverage + gain > best.coverage + PAIR_MARGIN
        )
        if is_better and paired.link and pair_answers(paired.scored, paired.link, part):
            return _current(paired, ranked, reading)
    if best is None:
        return None
    chosen = _current(Chosen(part=part, scored=best), ranked, reading)
    return replace(chosen, companion=_companion(chosen, ranked))


def _is_ambiguous_row(scored: Scored, ranked: Sequence[Scored]) -> bool:
    """Return whether another row of the table matches the question equally well."""
    candidate = scored.candidate
    heads = [cell.header for cell in candidate.statement.cells]
    return bool(heads) and any(
        other.candidate.order != candidate.order
        and (other.candidate.credits, other.candidate.close) == (candidate.credits, candidate.close)
        and other.candidate.passage.n == candidate.passage.n
        and [cell.header for cell in other.candidate.statement.cells] == heads
        for other in ranked
    )


def _current(chosen: Chosen, ranked: Sequence[Scored], reading: Reading) -> Chosen:
    """Return the choice with the statement that is in force, and with the one that it replaces.

    Where no statement of a newer version answers by itself, its counterpart there does.
    """
    best, part = chosen.scored, chosen.part
    rivals = [
        scored
        for scored in ranked
        if scored.score >= best.score - (CHANGE_RIVAL if changes(scored.candidate.statement.text) else RIVAL)
        and scored.candidate.order != best.candidate.order
        and answers(scored, part)
        and _same_subject(scored, best, part)
    ]
    current = best
    for rival in rivals:
        if supersedes(rival.candidate, current.candidate, reading.abouts) or _corrects_value(rival, current, part):
            current = rival
    if current is best:
        newer = [
            score(candidate, part) for candidate in counterparts(best.candidate, reading.candidates, reading.abouts)
        ]
        current = max(
            (scored for scored in newer if not part.question.kinds or scored.value >= best.value),
            key=lambda scored: (scored.score, -scored.candidate.passage.n),
            default=best,
        )
    if current is not best:
        return replace(chosen, scored=current, older=best, link=None, names=frozenset())
    older = next((scored for scored in rivals if supersedes(best.candidate, scored.candidate, reading.abouts)), None)
    return replace(chosen, older=older)


def _corrects_value(new: Scored, old: Scored, part: Part) -> bool:
    """Return whether a later message of a thread gives another value of the expected kind."""
    return bool(part.question.kinds and new.value >= old.value > 0 and later_message(new.candidate, old.candidate))


def _companion(chosen: Chosen, ranked: Sequence[Scored]) -> Scored | None:
    """Return a neighbouring sentence of the line, if it has the expected value or is nearly as good."""
    best = chosen.scored
    statement = best.candidate.statement
    if statement.cells or statement.is_heading:
        return None
    neighbours = [
        scored
        for scored in ranked
        if scored.candidate.passage.n == best.candidate.passage.n
        and abs(scored.candidate.position - best.candidate.position) == 1
        and scored.candidate.statement.line == statement.line
    ]
    if best.value < 1 and (with_value := next((scored for scored in neighbours if scored.value >= 1), None)):
        return with_value
    return next(
        (scored for scored in neighbours if scored.score >= best.score - COMPANION and answers(scored, chosen.part)),
        None,
    )


def _same_subject(rival: Scored, best: Scored, part: Part) -> bool:
    """Return whether both cover the names of the question alike, and much the same of its topical terms.

    Statements of one document share its names.
    """
    if rival.candidate.passage.chunk.document_id != best.candidate.passage.chunk.document_id:
        for index, term in enumerate(part.terms):
            covered = [scored.candidate.credits[index] >= NEAR for scored in (rival, best)]
            if term.is_name and part.weights[index] and covered[0] != covered[1]:
                return False
    return best.topic - rival.topic <= OTHER_WORDS and (not part.question.kinds or rival.value >= best.value)


def _best_pair(ranked: Sequence[Scored], part: Part, abouts: Mapping[UUID, str]) -> tuple[Chosen, float] | None:
    """Return the pair with the highest score and its gain, or None where no link adds MIN_GAIN of the weight.

    A name in the subjects of both documents links nothing: all their statements share it.
    """
    plain_abouts = {document: folded_in_place(about) for document, about in abouts.items()}
    total = math.fsum(part.weights) or 1.0
    links = [(link, _names(link.candidate.statement, part.question.plain)) for link in _links(ranked, part)]
    pairs: list[tuple[tuple[float, int, float], Chosen, float]] = []
    for answer in ranked[:CANDIDATES]:
        missing = [
            index for index, credit in enumerate(answer.candidate.credits) if credit < COVERED and part.weights[index]
        ]
        if not missing or (part.question.kinds and answer.value < 1):
            continue
        statement = answer.candidate.statement
        plain = folded_in_place(" ".join([statement.text, *(cell.header for cell in statement.cells)]))
        for link, names in links:
            if link.candidate.order == answer.candidate.order:
                continue
            documents = {scored.candidate.passage.chunk.document_id for scored in (answer, link)}
            shared = frozenset(
                name
                for name in names
                if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", plain)
                and (len(documents) == 1 or not all(name in plain_abouts.get(document, "") for document in documents))
            )
            if not shared:
                continue
            gain = (
                math.fsum(
                    part.weights[index] * max(0.0, link.candidate.credits[index] - answer.candidate.credits[index])
                    for index in missing
                    if link.candidate.credits[index] >= COVERED
                )
                / total
            )
            if gain >= MIN_GAIN:
                rank = (answer.score + GAIN * gain, -answer.candidate.passage.n, link.score)
                pairs.append((rank, Chosen(part=part, scored=answer, link=link, names=shared), gain))
    best = max(pairs, key=lambda pair: pair[0], default=None)
    return best and (best[1], best[2])


def _links(ranked: Sequence[Scored], part: Part) -> list[Scored]:
    """Return the statements that contain a name or a code of the question, or cover most of its topical terms."""
    named = [index for index, term in enumerate(part.terms) if term.is_name]
    return [
        scored
        for scored in ranked
        if scored.topic >= COVERED or any(scored.candidate.credits[index] >= COVERED for index in named)
    ][: 2 * CANDIDATES]


def _names(statement: Statement, question: str) -> frozenset[str]:
    text = f"{statement.text} {statement.lead}"
    names = {folded_in_place(name).strip("`") for name in (*_NAME.findall(text), *_COMMAND.findall(text))}
    return frozenset(name for name in names if len(name) > 2 and name not in _COMMON and name not in question)
