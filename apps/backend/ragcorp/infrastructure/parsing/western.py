"""Tells the encodings of Western European text apart by where its letters and signs stand."""

# ruff: noqa: RUF001 - the signs are the subject

import re
from typing import NamedTuple

_LOWER = "àáâãäåæçèéêëìíîïòóôõöøùúûüßÿ"
_UPPER = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜŸŒ"
_LETTER = r"[^\W\d_]"
_VOWEL = "[aeiouáéíóúü]"
_SIGNS = "€…“”‘’„«»–—·¿¡ºª°©®™±×÷½¼¾²³¹µ§¶•†‰£¥¢¤¬¨´\u00a0\u00ad"
_SOUND = re.compile(
    "(?=[^\\x00-\\x7f])(?:"
    + "|".join((
        rf"(?<![A-Z][A-Z])(?<=[A-Za-zñç])[{_LOWER}](?![A-Z{_UPPER}{_LOWER}])",
        rf"(?<!{_LETTER})[{_LOWER}œ](?=[a-z])",
        rf"(?<!\w)[{_LOWER}{_UPPER}ñ](?!\w)",
        r"(?<=[a-z])œ(?=u)",
        rf"(?<![A-Z][A-Z])(?<={_VOWEL})ñ(?={_VOWEL})|(?<=\b[AEIOUÁÉÍÓÚ])ñ(?={_VOWEL})|\bñ(?={_VOWEL})",
        rf"(?<!{_LETTER})[{_UPPER}](?=[a-z]|[A-Z{_UPPER}]+(?![a-z]))",
        rf"(?<=[A-Z{_UPPER}])[{_UPPER}](?![a-z{_LOWER}])",
        r"\b(?:(?<=[ldsmtnjcLDSMTNJC])|(?<=qu))’(?=[haeiouàâéèêíòóúAEIOUHÀÉÈÍÒÓÚ]\w\w)",
        r"(?<=[a-z])’(?=(?:s|t|re|ve|ll|d|m)\b|hui\b)|(?<=\b[OD])’(?=[A-Z])",
        rf"(?<={_LETTER}{{3}})[–—\u00a0](?={_LETTER}{{2}})|(?<=\d)[–—](?=\d)",
        r"(?<=[lL])·(?=[lL])",
        rf"(?<!{_LETTER})[{_SIGNS}](?!{_LETTER})",
        rf"(?<!{_LETTER})[¿¡“‘„«–—…\u00a0](?={_LETTER})",
        rf"(?<={_LETTER})[”»…ºª²³©®™\u00a0](?!{_LETTER})|(?<=s)’(?!{_LETTER})",
    ))
    + ")"
)  # fmt: skip
_PAIRED = re.compile(rf"‘([^‘’\n]{{1,300}})’(?!\w)|(?<!\w)[–—](?=\w)([^–—\n]{{1,300}})(?<={_LETTER})[–—](?!\w)")
_OTHERS = re.compile(r"[^\x00-\x7f]")
_SPANISH = frozenset("áéíóúüñçÁÉÍÓÚÜÑÇ")
_OLD = ("cp850", "mac_roman")
_MARGIN = 0.4
"""By how much the encoding of DOS or of the old Macintosh must fit better: both are rare."""
_CURRENCY = b"\xa4"
_ONLY_WINDOWS = bytes(range(0x80, 0xA0))


class Fit(NamedTuple):
    """How well an encoding fits: the share of the non-ASCII characters that stand where such a one may stand."""

    share: float
    spanish: int
    encoding: str


def best_fit(sample: bytes) -> Fit:
    """Return Windows-1252, or ISO-8859-15 for a file with its euro sign, unless an old encoding fits clearly better.

    >>> best_fit("El niño, el año".encode("cp850")).encoding
    'cp850'
    """
    latin_9 = _CURRENCY in sample and sample == sample.translate(None, _ONLY_WINDOWS)
    modern = _fit(sample, "iso8859-15" if latin_9 else "cp1252")
    old = max(_fit(sample, encoding) for encoding in _OLD)
    return old if old.share > modern.share + _MARGIN else modern


def _fit(sample: bytes, encoding: str) -> Fit:
    text = _PAIRED.sub(r"«\1\2»", sample.decode(encoding, errors="replace"))
    others = _OTHERS.findall(text)
    sound = sum(1 for _ in _SOUND.finditer(text))
    return Fit(sound / max(len(others), 1), sum(map(_SPANISH.__contains__, others)), encoding)
