"""Words as answers compare them: folded, and alike where Spanish changes a stem."""

from __future__ import annotations

import re
from functools import lru_cache

from ragcorp.domain.text.folding import folded_in_place

_DIPHTHONG = re.compile(r"ue|ie")
MIN_STEM = 4
MIN_STEM_SHARE = 0.6
NO_ROOTS = frozenset({"abril", "marz", "may", "mes"})
"""Short lexemes that begin as other words do."""


def listed(words: str) -> tuple[str, ...]:
    """Return the words of a list that is written with spaces between them."""
    return tuple(words.split())


@lru_cache(maxsize=20_000)
def stem_root(lexeme: str) -> str:
    """Return a lexeme without accents and with the vowels that Spanish stems alternate with: descuent, descont."""
    plain = folded_in_place(lexeme)
    return _DIPHTHONG.sub(lambda found: "o" if found.group() == "ue" else "e", plain)


def same_root(one: str, other: str) -> bool:
    """Return whether two lexemes share a root: a common beginning of 4 letters that is 60 % of the longer one.

    Shorter ones do if one is the other without its last letter: línea and líneas make line and lin.

    Lexemes with a digit have no root: they are alike if they are equal.
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
