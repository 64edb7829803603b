"""Folds text for comparison: case, accents (but ñ), compatibility forms and dashes. Pure.

``folded`` is the Python twin of the SQL function ``folded_text`` (migration 004, ADR-026): both return the same.

>>> folded("El AÑO de la ﬁnca, n.º 5 — Müller")
'el año de la finca, n.  5 - muller'
"""

import re
import unicodedata
from functools import lru_cache

_SPANISH = str.maketrans("áéíóúü", "aeiouu")
_UNFOLDED = re.compile("[^\x01-\x7fñ¿¡«»“”\u2018\u2019…€]")
_NO_LETTERS = re.compile("[ºª°™℠\u00bc-\u00be]|(?<!m)[¹²³\u2070-\u2079]")
"""Ordinal signs and footnote marks: they would become part of the word before them."""
_MARKS = re.compile("[\u0300-\u036f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "œ": "oe", "æ": "ae", "ß": "ss"})
_SYLLABLES = re.compile("[\u1100-\u11ff\u3099\u309a]")
"""Letters of Hangul and marks of kana, which are composed again."""
_PART = re.compile("[nN]\u0303|.", re.DOTALL)


def folded(text: str) -> str:
    """Return the text folded. Its length may change: ``ﬁ`` becomes ``fi``, a combining accent disappears."""
    if text.isascii():
        return text.lower().replace("\\", "/")
    plain = _lower(text).translate(_SPANISH)
    if _UNFOLDED.search(plain):
        plain = _NO_LETTERS.sub(" ", plain)
        plain = _lower(unicodedata.normalize("NFKD", plain)).replace("n\u0303", "ñ")
        plain = _DASHES.sub("-", _MARKS.sub("", plain)).translate(_LETTERS)
        if _SYLLABLES.search(plain):
            plain = unicodedata.normalize("NFC", plain)
    return plain.replace("\\", "/")


def folded_in_place(text: str) -> str:
    """Return the text with each letter folded to one letter, so that offsets stay; expects NFC.

    Signs, ordinals and combining marks stay as they are.

    >>> folded_in_place("El Año 2.º — ﬁn")
    'el año 2.º — fn'
    """
    return text.lower() if text.isascii() else "".join(map(_letter, text))


def folded_with_places(text: str) -> tuple[str, list[int]]:
    """Return the text with its letters folded, and for each character the offset that it comes from.

    Signs and ordinals stay as they are.

    >>> folded_with_places("An\u0303o ﬁn")
    ('año fin', [0, 1, 3, 4, 5, 5, 6])
    """
    parts = [(_folded_part(match[0]), match.start()) for match in _PART.finditer(text)]
    return "".join(part for part, _ in parts), [start for part, start in parts for _ in part]


@lru_cache(maxsize=4096)
def _folded_part(part: str) -> str:
    plain = folded(part)
    return part if plain == " " or unicodedata.category(part[0])[0] in "PSZ" else plain


@lru_cache(maxsize=4096)
def _letter(character: str) -> str:
    return _folded_part(character)[:1] or character


def _lower(text: str) -> str:
    """Lower each letter by itself: at the end of a word, ``str.lower`` writes sigma as ς."""
    return text.replace("\u03a3", "\u03c3").lower()
