"""Whether a statement holds the kind of value that a question asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.passages.statements import Cell, Statement
from ragcorp.infrastructure.extractive.vocabulary.values import ValueKind, found_values, is_cell_amount
from ragcorp.infrastructure.extractive.vocabulary.words import same_root

FOLLOWING = 0.5
"""Strength of a value in the statement after."""
LOOSE = 0.4
"""Strength of a number that does not stand beside the noun that is counted."""

_COUNTED = re.compile(r"\b(?:cuant[oa]s?|how many|quant[oa]s?)\s+(\w+)")
SUBJECT = 80
_COPULA = re.compile(r"([^.;:]*)\b(?:son|es|fueron|fue|seran|sera|eran|era|are|were|is|was)\s+(?:de\s+)?$")
"""What is said to be so many stands before the number: "the operations affected are 38"."""

_UNITS = {"metros": "m", "kilos": "kg", "kilometros": "km", "litros": "l", "euros": "€", "gigas": "gb", "grados": "°"}


def value_strength(asked: str, kinds: Iterable[ValueKind], statement: Statement, following: Statement | None) -> float:
    """Return how surely the statement holds a value of one of the kinds, in [0, 1]; ``asked`` is the folded question.

    A value that the question gives itself does not count.
    """
    if statement.implied:
        # a place and a date name nobody
        kinds = [kind for kind in kinds if kind is not ValueKind.PERSON]
    own = max((_of_kind(asked, statement, kind) for kind in kinds), default=0.0)
    if own >= 1 or following is None or following.is_heading or following.line != statement.line or statement.cells:
        return own
    return max(own, FOLLOWING * max((_of_kind(asked, following, kind) for kind in kinds), default=0.0))


def holds_value(asked: str, kinds: Iterable[ValueKind], cell: Cell) -> bool:
    counted = _COUNTED.search(asked)
    unit = _UNITS.get(counted.group(1)) if counted else None
    if unit and f"{unit} " in f"{folded_in_place(cell.text)} ":
        return True
    return any(
        (kind is ValueKind.AMOUNT and is_cell_amount(cell.text))
        or any(folded_in_place(value) not in asked for value in found_values(cell.text, kind))
        for kind in kinds
    )


def _of_kind(asked: str, statement: Statement, kind: ValueKind) -> float:
    if kind is ValueKind.AMOUNT and any(is_cell_amount(cell.text) for cell in statement.cells):
        return 1.0
    if statement.fact is not None and kind in (ValueKind.PERSON, ValueKind.NAME):
        return 1.0 if statement.fact.told_to(asked) else 0.0
    values = [value for value in found_values(statement.text, kind) if folded_in_place(value).strip() not in asked]
    if not values:
        # "how much" may be a share
        return LOOSE if kind is ValueKind.AMOUNT and found_values(statement.text, ValueKind.PERCENT) else 0.0
    if kind is ValueKind.QUANTITY:
        noun = _COUNTED.search(asked)
        return 1.0 if noun is None or _counts(noun.group(1), values, statement) else LOOSE
    return 1.0


def _counts(noun: str, values: Iterable[str], statement: Statement) -> bool:
    """Return whether a number stands beside the noun, or a column, a label or the row itself is about it."""
    plain = folded_in_place(statement.text)
    unit = _UNITS.get(noun)
    labels = " ".join(f"{cell.header} {cell.text}" for cell in statement.cells) or plain.partition(":")[0] * (
        ":" in plain
    )
    if any(same_root(noun, word) for word in re.findall(r"[^\W\d_]+", folded_in_place(labels))):
        return True
    for value in values:
        for found in re.finditer(rf"(?<!\w){re.escape(value.strip())}(?!\w)", plain):
            words = re.findall(r"[^\W\d_]+|€|°", plain[found.end() : found.end() + 45])[:3]
            if any(same_root(noun, word) for word in words) or (unit is not None and words[:1] == [unit]):
                return True
            before = _COPULA.search(plain, max(0, found.start() - SUBJECT), found.start())
            if before and any(same_root(noun, word) for word in re.findall(r"[^\W\d_]+", before.group(1))):
                return True
    return False
