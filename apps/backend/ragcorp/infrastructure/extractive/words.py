"""Word comparison for answers, tolerant of the stem changes of Spanish."""

import re
from functools import lru_cache

from ragcorp.domain.text.folding import folded_in_place

_DIPHTHONG = re.compile(r"ue|ie")
MIN_STEM = 4
MIN_STEM_SHARE = 0.6
NO_ROOTS = frozenset({"abril", "marz", "may", "mes"})
"""Short lexemes that are the beginning of unrelated words."""

UNITS = {
    "metros": "m",
    "kilos": "kg",
    "kilometros": "km",
    "litros": "l",
    "euros": "€",
    "gigas": "gb",
    "grados": "°",
    "unidades": "uds",
}
"""Symbols of the units that questions write out."""


def listed(words: str) -> tuple[str, ...]:
    """Split a list of words that is written as one string."""
    return tuple(words.split())


@lru_cache(maxsize=20_000)
def stem_root(lexeme: str) -> str:
    """Return a lexeme without accents and diphthongs, which alternate in Spanish stems: descuent, descont."""
    plain = folded_in_place(lexeme)
    return _DIPHTHONG.sub(lambda match: "o" if match.group() == "ue" else "e", plain)


def same_root(one: str, other: str) -> bool:
    """Return whether two lexemes share a root: they begin with the same 4 letters or more, 60 % of the longer one.

    Shorter lexemes do if one is the other without its last letter: the lexemes of línea and líneas are line and lin.
    Lexemes with a digit have no root.
    """
    if one == other:
        return True
    if not (one.isalpha() and other.isalpha()):
        return False
    first, second = stem_root(one), stem_root(other)
    common = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        common += 1
    if {first, second} & NO_ROOTS:
        return False
    if common == min(len(first), len(second)) >= 3 and abs(len(first) - len(second)) == 1:
        return True
    return common >= MIN_STEM and common >= MIN_STEM_SHARE * max(len(first), len(second))
