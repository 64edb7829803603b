"""Two statements that answer together: a contract names its plan, and a tariff that plan's price.

The link is a name or a code that both hold and the question does not. A pair is worth

    score(answer) + GAIN * (weight of the terms that only the link statement covers / weight of all)
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.evidence.scoring import Asked, Scored
from ragcorp.infrastructure.extractive.passages.statements import Statement
from ragcorp.infrastructure.extractive.vocabulary.words import listed

GAIN = 0.7
MIN_GAIN = 0.1
COVERED = 0.6
"""Credit from which a term counts as covered; what is only known of the document does not."""
CANDIDATES = 40

_WORD = r"[A-ZÁÉÍÓÚÜÑ][\wáéíóúüñç]+"
_NAME = re.compile(rf"{_WORD}(?:\s+(?:\d{{1,3}}\b|{_WORD}))+|(?<=[\w,;:|»”(] ){_WORD}|\b[A-Za-z]+-\d[\w-]*")
_COMMAND = re.compile(r"\b[a-z]{2,12}(?: [a-z]{2,12})? --[a-z]+|`[^`]+`")
_COMMON = frozenset(
    listed(
        "el la los las un una en por para con sin si no al del de se es su que como cuando cliente operador contrato "
        "fecha responsable asunto articulo clausula acuerdo precio servicio total sí the"
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """``link`` names what ``answer`` is about; ``names`` (folded) are what they share; ``coverage`` is that of both."""

    answer: Scored
    link: Scored
    names: frozenset[str]
    worth: float
    coverage: float


def best_pair(found: Sequence[Scored], asked: Asked, abouts: Mapping[UUID, str]) -> Pair | None:
    """Return the pair worth most, or None where no second statement adds a tenth of the question.

    A name that stands in what both documents are about links nothing: all their statements would share it.
    """
    plain_abouts = {document: folded_in_place(about) for document, about in abouts.items()}
    total = math.fsum(asked.weights) or 1.0
    pairs: list[Pair] = []
    linked = [(scored, _names(scored.candidate.statement, asked.plain)) for scored in _linking(found, asked)]
    for answer in found[:CANDIDATES]:
        missing = [
            index for index, credit in enumerate(answer.candidate.credits) if credit < COVERED and asked.weights[index]
        ]
        if not missing or (asked.kinds and answer.value < 1):
            continue
        held = _plain(answer.candidate.statement)
        for link, names in linked:
            if link.candidate.order == answer.candidate.order:
                continue
            shared = frozenset(name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", held))
            documents = {each.candidate.passage.chunk.document_id for each in (answer, link)}
            if len(documents) > 1:
                shared = frozenset(
                    name for name in shared if not all(name in plain_abouts.get(each, "") for each in documents)
                )
            if not shared:
                continue
            gain = (
                math.fsum(
                    asked.weights[index] * max(0.0, link.candidate.credits[index] - answer.candidate.credits[index])
                    for index in missing
                    if link.candidate.credits[index] >= COVERED
                )
                / total
            )
            if gain >= MIN_GAIN:
                pairs.append(
                    Pair(
                        answer=answer,
                        link=link,
                        names=shared,
                        worth=answer.score + GAIN * gain,
                        coverage=answer.coverage + gain,
                    )
                )
    return max(pairs, key=lambda pair: (pair.worth, -pair.answer.candidate.passage.n, pair.link.score), default=None)


def _held(scored: Scored, index: int, asked: Asked) -> float:
    """Return the credit of a term in a statement or beside it; a name may stand in what its document is about."""
    return (scored.candidate.credits if asked.terms[index].is_name else scored.candidate.close)[index]


def _linking(found: Sequence[Scored], asked: Asked) -> list[Scored]:
    """Return the statements that hold themselves a name or a code of the question, or cover most of it."""
    named = [index for index, term in enumerate(asked.terms) if term.is_name]
    return [
        scored
        for scored in found
        if any(
            scored.candidate.close[index] >= COVERED or scored.candidate.credits[index] >= COVERED for index in named
        )
        or scored.topic >= COVERED
    ][: 2 * CANDIDATES]


def _names(statement: Statement, asked: str) -> frozenset[str]:
    text = f"{statement.text} {statement.lead}"
    found = {folded_in_place(name).strip("`") for name in _NAME.findall(text)} | {
        folded_in_place(name).strip("`") for name in _COMMAND.findall(text)
    }
    return frozenset(name for name in found if len(name) > 2 and name not in _COMMON and name not in asked)


def _plain(statement: Statement) -> str:
    return folded_in_place(" ".join([statement.text, *(cell.header for cell in statement.cells)]))
