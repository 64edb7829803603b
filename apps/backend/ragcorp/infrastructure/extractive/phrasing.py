"""Words an answer: quotes with their citations, and fixed words between them."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.domain.answers import QuotedPiece
from ragcorp.domain.citations.quoting import inside_quotes
from ragcorp.domain.text.speakers import neutral_name
from ragcorp.infrastructure.extractive.evidence.polarity import decided
from ragcorp.infrastructure.extractive.evidence.selection import Chosen
from ragcorp.infrastructure.extractive.evidence.tables import asked_cells
from ragcorp.infrastructure.extractive.evidence.weights import Candidate
from ragcorp.infrastructure.extractive.passages.statements import Cell, is_clause_heading

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
EARLIER = {
    "es": "Antes",
    "en": "Earlier",
    "pt": "Antes",
    "fr": "Avant",
    "it": "Prima",
    "de": "Früher",
    "ca": "Abans",
}
"""Says that a citation is of what no longer holds; its words are left out, lest they be taken for the answer."""


def worded(chosen: Sequence[Chosen], *, language: str) -> list[QuotedPiece]:
    """Return at most MAX_STATEMENTS pieces, which make an answer of at most MAX_CHARACTERS characters."""
    pieces: list[QuotedPiece] = []
    for number, each in enumerate(chosen):
        pieces.append(_main(each, language=language, leads=number == 0))
    for each in chosen:
        if each.companion:
            pieces.append(_quoted(each.companion.candidate, (), label=False))
        if each.link:
            pieces.append(_quoted(each.link.candidate, ()))
        if each.older:
            older = each.older.candidate
            pieces.append(
                QuotedPiece(
                    text=f"{EARLIER.get(language, EARLIER['es'])}:",
                    quote=older.statement.text,
                    n=older.passage.n,
                )
            )
    kept: list[QuotedPiece] = []
    length = -1
    for piece in pieces:
        added = len(f" {piece.text} [{piece.n}]")
        if len(kept) < MAX_STATEMENTS and length + added <= MAX_CHARACTERS:
            kept.append(piece)
            length += added
    return kept


def _main(chosen: Chosen, *, language: str, leads: bool) -> QuotedPiece:
    candidate = chosen.scored.candidate
    cells = asked_cells(candidate.statement, chosen.asked, chosen.names) if candidate.statement.cells else ()
    piece = _quoted(candidate, cells)
    if not (leads and chosen.asked.question.asks_yes_or_no):
        return piece
    if candidate.statement.fact is not None and not candidate.statement.fact.says_so(chosen.asked.plain):
        return piece
    verdict = decided(candidate.statement, cells[-1] if len(cells) == 2 else None)
    if verdict is None:
        return piece
    yes, no = YES_NO.get(language, YES_NO["es"])
    return QuotedPiece(text=f"{yes if verdict else no}. {piece.text}", quote=piece.quote, n=piece.n)


def _quoted(candidate: Candidate, cells: Sequence[Cell], *, label: bool = True) -> QuotedPiece:
    statement = candidate.statement
    quoted = _row(cells or statement.cells) if statement.cells else f"«{inside_quotes(statement.text)}»"
    clause = _clause(candidate) if label else ""
    return QuotedPiece(text=f"{clause}{quoted}", quote=statement.text, n=candidate.passage.n)


def _clause(candidate: Candidate) -> str:
    """Return the clause that a statement stands in, as the document heads it; of what was said, who said it."""
    if candidate.passage.chunk.speaker:
        name = neutral_name(candidate.passage.chunk.speaker)
        return f"{inside_quotes(name)}: " if name else ""
    path = candidate.passage.chunk.heading_path
    heading = candidate.statement.heading or (path[-1] if path else "")
    if candidate.statement.is_heading or not is_clause_heading(heading):
        return ""
    return f"{inside_quotes(heading).rstrip('. ')}: "


def _row(cells: Sequence[Cell]) -> str:
    """Return a row as its cells under their columns: «label», column: «cell»."""
    parts: list[str] = []
    for number, cell in enumerate(cells):
        if cell.text:
            head = f"{inside_quotes(cell.header)}: " if cell.header and number else ""
            parts.append(f"{head}«{inside_quotes(cell.text)}»")
    return ", ".join(parts)
