"""Numbers of clauses and articles in one canonical form. Pure.

``SEGUNDA``, ``2.ª``, ``II``, ``second`` and ``dos`` are ``2``; ``VIGÉSIMA PRIMERA`` and ``vigesimoprimera`` are ``21``;
``4.2.`` is ``4.2``, ``14 BIS`` is ``14 bis``, ``1.902`` is ``1902``, ``única`` is ``unica``. Spanish, English and
Portuguese words up to 99, Catalan ordinals up to 20.
"""

import re
from dataclasses import dataclass
from itertools import product

from ragcorp.domain.text.folding import folded

MAX_RANGE = 20
"""Maximum numbers of a range (``cláusulas 3 a 5``); a longer one gives its ends."""

_SPACE = "[ \t\u00a0\u202f]"
_WORD = re.compile(r"[^\W\d_ªº](?:[^\W\d_ªº]|[\u0300-\u036f]){0,29}(?!\w)")
_FIGURES = re.compile(r"([0-9]{1,2})\.([0-9]{3})(?![0-9]|\.[0-9])|([0-9]{3}-[0-9]{1,2})(?![0-9])|([0-9]{1,4})(?![0-9])")
_SIGN = re.compile(
    rf"\.?{_SPACE}?[ºª°](?!\w)|\.?[ao](?!\w)|(?:er[oa]?|r[ao]|d[ao]|t[ao]|m[ao]|v[ao]|n[ao]|st|nd|rd|th)(?!\w)",
    re.IGNORECASE,
)
"""Marks of ordinals. A superscript that a PDF lost is a plain letter: ``2.a``."""
_PARTS = re.compile(r"(?:\.[0-9]{1,2}(?![0-9])){0,5}")
_LETTER = re.compile(rf"\.?([a-z])(?![\w])(?!\.\w)|{_SPACE}?([a-z])\)", re.IGNORECASE)
_SUFFIX = re.compile(
    rf"(?:{_SPACE}{{0,3}}|-)(bis|ter|qu[aá]ter|quinquies|sexies|septies|octies|nonies|decies|undecies|duodecies)(?!\w)"
    r"(\.[0-9]{1,2}(?![0-9]))?",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_LETTERS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_CONTINUATION = re.compile(r"\w|[/,:.][0-9]|[%€$]|[ºª°]")
"""Follows numbers of dates, hours and amounts."""
_BETWEEN = re.compile(rf"{_SPACE}{{1,3}}|-")
_JOINER = re.compile(
    rf"{_SPACE}{{0,3}}(?:,{_SPACE}{{0,3}}(?:(?:y|e|i|o|u|ou|and|or){_SPACE}{{1,3}})?"
    rf"|(?<=[\s\u00a0\w.ªº°)])(?:(?P<range>a{_SPACE}|al{_SPACE}|to{_SPACE}|hasta{_SPACE}|through{_SPACE}|[-\u2013])"
    rf"|(?:y|e|i|o|u|ou|and|or|&){_SPACE}){_SPACE}{{0,3}})",
    re.IGNORECASE,
)
_ARTICLE = re.compile(rf"(?:las?|los|el|a|o|as|os|the){_SPACE}{{1,3}}", re.IGNORECASE)


def _counted(row: str, *, start: int = 1) -> dict[str, int]:
    """Read a row of words, counted from ``start``; alternatives are joined by a bar."""
    return {word: number for number, cell in enumerate(row.split(), start) for word in cell.split("|")}


_UNITS = _counted(
    "primera|primero|primer|primeira|primeiro segunda|segundo tercera|tercero|tercer|terceira|terceiro"
    " cuarta|cuarto|quarta|quarto quinta|quinto sexta|sexto septima|septimo|setima|setimo octava|octavo|oitava|oitavo"
    " novena|noveno|nona|nono"
)
_TENS = {
    stem + ending: 10 * ten
    for stem, ten in _counted(
        "decim vigesim trigesim cuadragesim|quadragesim quincuagesim|quinquagesim sexagesim septuagesim|setuagesim"
        " octogesim nonagesim"
    ).items()
    for ending in ("a", "o")
}
_ENGLISH_TENS = {
    word: 10 * ten for word, ten in _counted("twenty thirty forty fifty sixty seventy eighty ninety", start=2).items()
}
_ENGLISH_UNITS = _counted("first second third fourth fifth sixth seventh eighth ninth")
_CATALAN_STEMS = _counted(
    "cinqu sis set vuit nov des onz dotz tretz catorz quinz setz disset divuit dinov vint", start=5
)
_ORDINALS = (
    _UNITS
    | _TENS
    | {f"{tens} {unit}": ten + one for (tens, ten), (unit, one) in product(_TENS.items(), _UNITS.items())}
    | {tens + unit: ten + one for (tens, ten), (unit, one) in product(_TENS.items(), _UNITS.items())}
    | {tens[:-1] + unit: ten + 8 for tens, ten in _TENS.items() for unit in ("octava", "octavo")}
    | _counted("undecima|undecimo|onceava duodecima|duodecimo|doceava treceava catorceava quinceava", start=11)
    | _ENGLISH_UNITS
    | _counted("tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth", start=10)
    | {"nineteenth": 19}
    | {tens[:-1] + "ieth": ten for tens, ten in _ENGLISH_TENS.items()}
    | {
        f"{tens} {unit}": ten + one
        for (tens, ten), (unit, one) in product(_ENGLISH_TENS.items(), _ENGLISH_UNITS.items())
    }
    | _counted("primera segona|segon tercera quart")
    | {stem + ending: number for stem, number in _CATALAN_STEMS.items() for ending in ("ena", "e")}
)
_ONES = _counted("uno|una|um|uma dos|dois|duas tres cuatro|quatro cinco seis siete|sete ocho|oito nueve|nove")
_ENGLISH_ONES = _counted("one two three four five six seven eight nine")
_ROUND = {
    word: 10 * ten
    for word, ten in _counted(
        "vinte treinta|trinta cuarenta|quarenta cincuenta|cinquenta sesenta|sessenta setenta|setenta ochenta|oitenta"
        " noventa",
        start=2,
    ).items()
}
_CARDINALS = (
    _ONES
    | _ENGLISH_ONES
    | _ROUND
    | _ENGLISH_TENS
    | {
        f"{tens} {joint} {unit}": ten + one
        for (tens, ten), (unit, one), joint in product(_ROUND.items(), _ONES.items(), ("y", "e"))
    }
    | {
        f"{tens} {unit}": ten + one
        for (tens, ten), (unit, one) in product(_ENGLISH_TENS.items(), _ENGLISH_ONES.items())
    }
    | _counted(
        "diez|dez once|onze doce|doze trece|treze catorce|quatorze|catorze quince|quinze dieciseis|dezesseis|dezasseis"
        " diecisiete|dezessete|dezassete dieciocho|dezoito diecinueve|dezenove|dezanove veinte veintiuno|veintiuna"
        " veintidos veintitres veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve",
        start=10,
    )
    | _counted("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", start=10)
)
MAX_WORDS = 3
"""Maximum words of a number: ``treinta y uno``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSpan:
    """A number in its canonical form, and where it is written in a text."""

    number: str
    start: int
    end: int


def number_at(text: str, start: int = 0, *, expected: bool = False) -> NumberSpan | None:
    """Return the number that begins at ``start``, without the punctuation after it."""
    head = _figures(text, start) or _words_at(text, start, expected=expected) or _roman(text, start, expected=expected)
    if head is None:
        return None
    number, end = head
    parts = _PARTS.match(text, end)
    if parts and parts.end() > end:
        number += "".join(f".{int(part)}" for part in parts[0].split(".")[1:])
        end = parts.end()
    letter = _LETTER.match(text, end) if number[0].isdigit() and text[end - 1].isdigit() else None
    if letter and ("." in number or letter[1]):
        number, end = f"{number}.{(letter[1] or letter[2]).lower()}", letter.end()
    suffix = _SUFFIX.match(text, end)
    if suffix:
        part = f".{int(suffix[2][1:])}" if suffix[2] else ""
        number, end = f"{number} {folded(suffix[1])}{part}", suffix.end()
    return None if _CONTINUATION.match(text, end) else NumberSpan(number=number, start=start, end=end)


def clause_numbers(text: str, start: int = 0, *, expected: bool = True) -> tuple[NumberSpan, ...]:
    """Return the numbers of the list that begins at ``start``: ``3, 4 y 5``, ``3 a 5``, ``segunda y tercera``."""
    match = number_at(text, start, expected=expected)
    numbers: list[NumberSpan] = []
    between = False
    while match:
        if between:
            numbers += _within(numbers[-1], match)
        numbers.append(match)
        joiner = _JOINER.match(text, match.end)
        if not joiner or joiner.end() == match.end:
            break
        article = _ARTICLE.match(text, joiner.end())
        match = number_at(text, joiner.end(), expected=expected) or (
            number_at(text, article.end(), expected=expected) if article else None
        )
        between = joiner["range"] is not None
    return tuple(numbers)


def enclosing_numbers(number: str) -> tuple[str, ...]:
    """Return the numbers of the enclosing parts, nearest first: ``4.2`` and ``4`` of ``4.2.1``."""
    parts = number.split(".")
    return tuple(".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))


def _figures(text: str, start: int) -> tuple[str, int] | None:
    match = _FIGURES.match(text, start)
    if not match:
        return None
    if match[1] and int(match[1]):
        return str(int(match[1] + match[2])), match.end()
    if match[3] and int(match[3][:3]) > int(match[3][4:]):
        return f"{int(match[3][:3])}-{int(match[3][4:])}", match.end()
    figures = re.compile(r"[0-9]{1,4}(?![0-9])").match(text, start)
    if not figures:
        return None
    sign = _SIGN.match(text, figures.end())
    return str(int(figures[0])), sign.end() if sign else figures.end()


def _words_at(text: str, start: int, *, expected: bool) -> tuple[str, int] | None:
    """Return the number of the longest run of words that is one."""
    phrase, best = "", None
    for _ in range(MAX_WORDS):
        match = _WORD.match(text, start)
        if not match:
            break
        phrase = f"{phrase} {folded(match[0])}".strip()
        number = _ORDINALS.get(phrase) or (_CARDINALS.get(phrase) if expected else None)
        if number:
            best = (str(number), match.end())
        elif phrase in {"unica", "unico"}:
            best = ("unica", match.end())
        between = _BETWEEN.match(text, match.end())
        if not between:
            break
        start = between.end()
    return best


def _roman(text: str, start: int, *, expected: bool) -> tuple[str, int] | None:
    match = _WORD.match(text, start)
    if not match:
        return None
    letters = match[0]
    if len(letters) == 1:
        value = _ROMAN_LETTERS.get(letters.upper() if letters in "ivx" else letters) if expected else None
        return (str(value), match.end()) if value else None
    if not (letters.isupper() or (expected and letters.islower())) or not _ROMAN.fullmatch(letters.upper()):
        return None
    values = [_ROMAN_LETTERS[letter] for letter in letters.upper()]
    total = sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
    return str(total), match.end()


def _within(low: NumberSpan, high: NumberSpan) -> list[NumberSpan]:
    if not (low.number.isdecimal() and high.number.isdecimal()):
        return []
    first, last = int(low.number), int(high.number)
    if last - first > MAX_RANGE:
        return []
    return [NumberSpan(number=str(number), start=low.end, end=high.start) for number in range(first + 1, last)]
