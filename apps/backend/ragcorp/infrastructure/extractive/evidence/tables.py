"""Which cells of a row answer: those of the column that the question names, or that holds what it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.evidence.scoring import Asked
from ragcorp.infrastructure.extractive.evidence.type_match import holds_value
from ragcorp.infrastructure.extractive.evidence.weights import holds_phrase
from ragcorp.infrastructure.extractive.passages.statements import Cell, Statement
from ragcorp.infrastructure.extractive.vocabulary.words import same_root

_WORD = re.compile(r"[^\W_]+")
_NOW = re.compile(r"^(?:ahora|actual|vigente|nuev[oa]|now|current|new|agora|atual)\b")
_BEFORE = re.compile(r"^(?:antes|anterior|previo|previa|before|old|previous)\b")
_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")


def asked_cells(statement: Statement, asked: Asked, names: Iterable[str] = ()) -> tuple[Cell, ...]:
    """Return the row's label and the cells that answer, in order; all cells where no column stands out.

    ``names`` (folded) are what another statement says that the question is about.
    """
    label, *rest = statement.cells
    filled = [cell for cell in rest if cell.text]
    if len(filled) < 2:
        return tuple(statement.cells)
    if not _about(label, asked):
        # the question gives another cell of the row: what it asks for may be the label
        return tuple(statement.cells)
    fitting = [cell for cell in filled if holds_value(asked.plain, asked.kinds, cell)]
    chosen = _by_header(fitting or filled, asked, tuple(names)) or fitting[: len(fitting) == 1]
    return (label, *chosen) if chosen else tuple(statement.cells)


def _about(cell: Cell, asked: Asked) -> bool:
    return (
        bool(_shared(cell.text, asked.plain))
        or any(term.phrase and holds_phrase(folded_in_place(cell.text), term.phrase) for term in asked.terms)
        or bool(re.search(r"\d", cell.text))
    )


def _by_header(cells: Sequence[Cell], asked: Asked, names: Sequence[str]) -> list[Cell]:
    """Return the cells whose headers hold most of the question's words; of equal headers by year, the newest."""
    worth = {id(cell): _header_worth(cell, cells, asked, names) for cell in cells}
    best = max(worth.values())
    if best <= 0:
        return _newest(cells, asked)
    chosen = [cell for cell in cells if worth[id(cell)] == best]
    return chosen if len(chosen) == 1 else _newest(chosen, asked) or (chosen if len(chosen) < len(cells) else [])


def _header_worth(cell: Cell, cells: Sequence[Cell], asked: Asked, names: Sequence[str]) -> float:
    header = folded_in_place(cell.header)
    common = (
        set.intersection(*(set(_WORD.findall(folded_in_place(other.header))) for other in cells))
        if len(cells) > 1
        else set()
    )
    words = [word for word in _WORD.findall(header) if word not in common]
    worth = 0.0
    for name in names:
        linked = holds_phrase(header, name) or (bool(header) and holds_phrase(name, header))
        worth += 2.0 * linked
    asked_words = _WORD.findall(asked.plain)
    if (
        words
        and all(word in asked_words for word in words)
        and (header in asked.plain or not any(map(str.isdigit, header)))
    ):
        worth += 2.0
    return worth + sum(
        1.0
        for word in words
        if not word.isdigit() and len(word) > 2 and any(same_root(word, other) for other in asked_words)
    ) / max(1, len(words))


def _newest(cells: Sequence[Cell], asked: Asked) -> list[Cell]:
    """Return the cell of the newest year where headers differ by their year only, or of the year that is asked for.

    Beside a column of what was before, it is the column of what is now.
    """
    if any(_BEFORE.match(folded_in_place(cell.header)) for cell in cells):
        return [cell for cell in cells if _NOW.match(folded_in_place(cell.header))][:1]
    years = {id(cell): _YEAR.findall(cell.header) for cell in cells}
    dated = [cell for cell in cells if years[id(cell)]]
    if len(dated) < 2 or len({_YEAR.sub("", folded_in_place(cell.header)) for cell in dated}) > 1:
        return []
    named = [cell for cell in dated if set(years[id(cell)]) & set(_YEAR.findall(asked.plain))]
    return named[:1] or [max(dated, key=lambda cell: years[id(cell)][0])]


def _shared(text: str, asked: str) -> list[str]:
    words = _WORD.findall(asked)
    return [
        word
        for word in _WORD.findall(folded_in_place(text))
        if len(word) > 2 and any(same_root(word, other) for other in words)
    ]
