"""Reads a text that is a number and nothing else."""

from __future__ import annotations

import re

from ragcorp.domain.text.clause_numbers import number_at

_OPENING = re.compile(r"\s*(?:n\.?(?:[º°]|o(?=\.?\s*[0-9]))\.?\s*)?", re.IGNORECASE)
_CLOSING = re.compile(r"[\s.,;:)\]\-\u2013\u2014ºª°]*")


def clause_number(text: str, *, expected: bool = False) -> str | None:
    """Return the canonical number that a text is, None where it is something else too.

    ``expected``: the caller knows that a number stands there (behind ``cláusula``), so that a single letter (``I``,
    ``V``, ``x``), a roman numeral in small letters and a cardinal (``dos``) are numbers as well.
    """
    opening = _OPENING.match(text)
    result = number_at(text, opening.end() if opening else 0, expected=expected)
    return result.number if result and _CLOSING.fullmatch(text, result.end) else None
