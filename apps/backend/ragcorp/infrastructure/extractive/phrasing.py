"""Words an answer: quotes, the cells of a row that answer, and fixed words between them."""

import re
from collections.abc import Sequence

from ragcorp.domain.answers import QuotedPiece
from ragcorp.domain.citations.quoting import inside_quotes
from ragcorp.domain.text.folding import folded_in_place
from ragcorp.domain.text.neutral_text import neutral_name
from ragcorp.infrastructure.extractive.scoring import Part, decided, has_value
from ragcorp.infrastructure.extractive.selection import Chosen
from ragcorp.infrastructure.extractive.statements import Cell, is_clause_heading
from ragcorp.infrastructure.extractive.terms import Candidate, contains_phrase
from ragcorp.infrastructure.extractive.words import same_root

MAX_STATEMENTS = 3
MAX_CHARACTERS = 600

YES_NO = {
    "es": ("Sí", "No"),
    "en": ("Yes", "No"),
    "pt": ("Sim", "Não"),
    "fr": ("Oui", "Non"),
    "it": ("Sì", "No"),
    "de": ("Ja", "Nein"),
    "ca": ("Sí", "No"),
}
EARLIER = {"es": "Antes", "en": "Earlier", "pt": "Antes", "fr": "Avant", "it": "Prima", "de": "Früher", "ca": "Abans"}
"""Introduces the citation of a statement that is no longer in force, without quoting it."""

_WORD = re.compile(r"[^\W_]+")
_NOW = re.compile(r"^(?:ahora|actual|vigente|nuev[oa]|now|current|new|agora|atual)\b")
_BEFORE = re.compile(r"^(?:antes|anterior|previo|previa|before|old|previous)\b")
_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")


def quoted_pieces(chosen: Sequence[Chosen], *, language: str) -> list[QuotedPiece]:
    """Return at most MAX_STATEMENTS pieces, which make an answer of at most MAX_CHARACTERS characters."""
    pieces = [_main(choice, language=language, leads=number == 0) for number, choice in enumerate(chosen)]
    for choice in chosen:
        if choice.companion:
            pieces.append(_quoted(choice.companion.candidate, label=False))
        if choice.link:
            pieces.append(_quoted(choice.link.candidate))
        if choice.older:
            older = choice.older.candidate
            earlier = EARLIER.get(language, EARLIER["es"])
            pieces.append(QuotedPiece(text=f"{earlier}:", quote=older.statement.text, n=older.passage.n))
    kept: list[QuotedPiece] = []
    length = -1
    for piece in pieces:
        added = len(f" {piece.text} [{piece.n}]")
        if len(kept) < MAX_STATEMENTS and length + added <= MAX_CHARACTERS:
            kept.append(piece)
            length += added
    return kept


def _main(chosen: Chosen, *, language: str, leads: bool) -> QuotedPiece:
    candidate, question = chosen.scored.candidate, chosen.part.question
    cells = _answering_cells(chosen) if candidate.statement.cells else ()
    piece = _quoted(candidate, cells)
    if not (leads and question.asks_yes_or_no):
        return piece
    if candidate.statement.fact is not None and not candidate.statement.fact.confirms(question.plain):
        return piece
    verdict = decided(candidate.statement, cells[-1] if len(cells) == 2 else None)
    if verdict is None:
        return piece
    yes, no = YES_NO.get(language, YES_NO["es"])
    return QuotedPiece(text=f"{yes if verdict else no}. {piece.text}", quote=piece.quote, n=piece.n)


def _quoted(candidate: Candidate, cells: Sequence[Cell] = (), *, label: bool = True) -> QuotedPiece:
    statement = candidate.statement
    quoted = _row(cells or statement.cells) if statement.cells else f"«{inside_quotes(statement.text)}»"
    clause = _clause(candidate) if label else ""
    return QuotedPiece(text=f"{clause}{quoted}", quote=statement.text, n=candidate.passage.n)


def _clause(candidate: Candidate) -> str:
    """Return the heading of the statement's clause, or the speaker of a turn, as a label."""
    if candidate.passage.chunk.speaker:
        name = neutral_name(candidate.passage.chunk.speaker)
        return f"{inside_quotes(name)}: " if name else ""
    if candidate.statement.is_heading or not is_clause_heading(candidate.heading):
        return ""
    return f"{inside_quotes(candidate.heading).rstrip('. ')}: "


def _row(cells: Sequence[Cell]) -> str:
    """Return the cells of a row with the heads of their columns: «label», column: «cell»."""
    parts: list[str] = []
    for number, cell in enumerate(cells):
        if cell.text:
            head = f"{inside_quotes(cell.header)}: " if cell.header and number else ""
            parts.append(f"{head}«{inside_quotes(cell.text)}»")
    return ", ".join(parts)


def _answering_cells(chosen: Chosen) -> Sequence[Cell]:
    """Return the row's label and the cells that answer, in order; all cells if no column fits best."""
    cells, part = chosen.scored.candidate.statement.cells, chosen.part
    label, *rest = cells
    filled = [cell for cell in rest if cell.text]
    if len(filled) < 2 or not _is_subject(label, part):
        # a question with another cell of the row may ask for the label
        return cells
    fitting = [cell for cell in filled if has_value(part.question.plain, part.question.kinds, cell)]
    best = _by_header(fitting or filled, part.question.plain, chosen.names) or fitting[: len(fitting) == 1]
    return (label, *best) if best else cells


def _is_subject(label: Cell, part: Part) -> bool:
    plain = folded_in_place(label.text)
    question_words = _WORD.findall(part.question.plain)
    return (
        any(len(word) > 2 and any(same_root(word, other) for other in question_words) for word in _WORD.findall(plain))
        or any(term.phrase and contains_phrase(plain, term.phrase) for term in part.terms)
        or re.search(r"\d", label.text) is not None
    )


def _by_header(cells: Sequence[Cell], question: str, names: frozenset[str]) -> Sequence[Cell]:
    """Return the cells whose headers share most with the folded question and with the link's ``names``."""
    headers = [folded_in_place(cell.header) for cell in cells]
    common = set.intersection(*(set(_WORD.findall(header)) for header in headers)) if len(cells) > 1 else set()
    fits = [_header_fit(header, common, question, names) for header in headers]
    best = max(fits)
    if best <= 0:
        return _newest(cells, question)
    chosen = [cell for cell, fit in zip(cells, fits, strict=True) if fit == best]
    return chosen if len(chosen) == 1 else _newest(chosen, question) or (chosen if len(chosen) < len(cells) else [])


def _header_fit(header: str, common: set[str], question: str, names: frozenset[str]) -> float:
    words = [word for word in _WORD.findall(header) if word not in common]
    question_words = _WORD.findall(question)
    fit = 2.0 * sum(contains_phrase(header, name) or (header != "" and contains_phrase(name, header)) for name in names)
    if (
        words
        and all(word in question_words for word in words)
        and (header in question or not any(map(str.isdigit, header)))
    ):
        fit += 2.0
    alike = (
        not word.isdigit() and len(word) > 2 and any(same_root(word, other) for other in question_words)
        for word in words
    )
    return fit + sum(alike) / max(1, len(words))


def _newest(cells: Sequence[Cell], question: str) -> Sequence[Cell]:
    """Return the cell of the question's year, else of the newest, where headers differ only by their year.

    Of a column for before and one for now, it is the one for now.
    """
    headers = [folded_in_place(cell.header) for cell in cells]
    if any(map(_BEFORE.match, headers)):
        return [cell for cell, header in zip(cells, headers, strict=True) if _NOW.match(header)][:1]
    dated = [(years, cell) for cell in cells if (years := _YEAR.findall(cell.header))]
    if len(dated) < 2 or len({_YEAR.sub("", folded_in_place(cell.header)) for _, cell in dated}) > 1:
        return []
    named = [cell for years, cell in dated if set(years) & set(_YEAR.findall(question))]
    return named[:1] or [max(dated, key=lambda dated_cell: dated_cell[0][0])[1]]
