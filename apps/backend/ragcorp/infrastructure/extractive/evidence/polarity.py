"""Yes or no, where the statement that decides it says so by clear rules."""

from __future__ import annotations

import re

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.passages.statements import Cell, Statement
from ragcorp.infrastructure.extractive.vocabulary.words import listed

_YES = re.compile(r"^\W*(?:si|yes|sim)\b(?!\s+(?:el|la|los|las|no|se|un|una|es|su|hay|bien|the)\b)")
_NO = re.compile(r"^\W*(?:no|nao)\b[,.;:]")
_CANNOT = (
    "puede puedes pueden podra podran esta estan es son sera seran hay habra existe existen cabe incluye incluyen "
    "admite admiten aceptamos acepta permite tiene tendra procede lo la los las requiere precisa aplica cubre dispone"
)
_NEGATED = re.compile(
    rf"\bno (?:se )?(?:{'|'.join(listed(_CANNOT))})\b|\bno se \w+(?:ra|ran|an|a|e|en)\b|"
    r"\bquedan? (?:excluid|prohibid|vedad)|\bestan? (?:prohibid|excluid)|\bprohibid[oa]|\bvedad[oa]\b|"
    r"\b(?:se )?excluyen?\b|"
    r"\bningun[oa]?\b|\bnunca\b|\bnadie\b|\ben ningun caso\b|\bsin prorroga\b|"
    r"\b(?:cannot|must not|may not|is not|are not|not allowed|not included|not permitted)\b|\bnao (?:pode|e|ha|se)\b"
)


def says_yes_or_no(statement: Statement) -> bool | None:
    """Return what the statement begins with: yes (True), no (False), or neither."""
    plain = folded_in_place(statement.text)
    if statement.cells:
        return None
    return True if _YES.match(plain) else False if _NO.match(plain) else None


def decided(statement: Statement, cell: Cell | None = None) -> bool | None:
    """Return whether the statement says yes (True) or no (False); None where it leaves it open."""
    plain = folded_in_place(cell.text if cell else statement.text)
    if _YES.match(plain) or (cell and plain in ("si", "yes", "x", "✓", "incluido", "incluida")):
        return True
    if _NO.match(plain) or (cell and plain in ("no", "-", "—")):
        return False
    if cell or statement.cells:
        return None
    return _NEGATED.search(plain) is None
