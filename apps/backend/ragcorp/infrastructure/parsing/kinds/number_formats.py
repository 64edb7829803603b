"""Shows a number by the number format of a spreadsheet."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import Enum, auto
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isfinite
from typing import NamedTuple

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)(?P<place>[^\]]*)\]'
    r"|\[(?P<operator><=|>=|<>|[<>=])(?P<number>-?\d+(?:\.\d*)?)\]|\[[^\]]*\]|(?P<general>General)|(?P<exponent>E[+-])"
    r"|(?P<slot>[0#?])|(?P<slash>/(?:[1-9]\d*)?)|(?P<end>;)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_ENGLISH = re.compile(r"-(?:[0-9a-f]*[048c]09|en\b)", re.IGNORECASE)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
_EXACT = Context(prec=200)
_MOST = 1e100
"""Larger numbers have their general form, whatever the format."""
_LONGEST = 255
"""Characters of a format, as in Excel."""
_MOST_DECIMALS = 30
_MOST_DENOMINATOR_SLOTS = 4


class _Kind(Enum):
    LITERAL = auto()
    SLOT = auto()
    POINT = auto()
    COMMA = auto()
    GENERAL = auto()
    EXPONENT = auto()
    SLASH = auto()
    PERCENT = auto()
    TEXT = auto()
    CODE = auto()


_SIGNS = {".": _Kind.POINT, ",": _Kind.COMMA, "@": _Kind.TEXT, "%": _Kind.PERCENT}
_SIGNS |= dict.fromkeys("ymdhsYMDHS", _Kind.CODE)


class _Token(NamedTuple):
    kind: _Kind
    text: str


@dataclass(frozen=True, kw_only=True)
class _Section:
    """A part of a format: for positive numbers, for negative ones, for zero, or under a condition."""

    tokens: tuple[_Token, ...]
    condition: tuple[str, float] | None
    english: bool

    def has(self, kind: _Kind) -> bool:
        return any(token.kind is kind for token in self.tokens)

    @cached_property
    def literals(self) -> str:
        return "".join(token.text for token in self.tokens if token.kind is _Kind.LITERAL)

    @cached_property
    def slots(self) -> list[int]:
        return [place for place, token in enumerate(self.tokens) if token.kind is _Kind.SLOT]

    @cached_property
    def point(self) -> int:
        """The place of the decimal point, which is followed or preceded by a slot."""
        for place, token in enumerate(self.tokens):
            if token.kind is _Kind.POINT and {place - 1, place + 1} & set(self.slots):
                return place
        return len(self.tokens)

    @cached_property
    def power(self) -> int:
        """The power of ten that a percent sign multiplies by, and that a comma behind the slots divides by."""
        power = 2 * sum(token.kind is _Kind.PERCENT for token in self.tokens)
        whole = [place for place in self.slots if place < self.point]
        for last in sorted({*whole[-1:], *self.slots[-1:]}):
            place = last + 1
            while place < len(self.tokens) and self.tokens[place].kind is _Kind.COMMA:
                power, place = power - 3, place + 1
        return power

    @cached_property
    def grouped(self) -> bool:
        whole = [place for place in self.slots if place < self.point]
        return any(self.tokens[place].kind is _Kind.COMMA for place in range(whole[0], whole[-1])) if whole else False


def shown_number(value: float, number_format: str) -> str:
    """Return the number as it is shown, with Spanish signs unless the format is English."""
    sections = _sections(number_format) if len(number_format) <= _LONGEST else ()
    section = _applying(value, sections)
    if section is None or not isfinite(value) or abs(value) >= _MOST:
        return general(value)
    if section.has(_Kind.CODE) and not section.slots:
        return general(value) if value else ""
    if not section.slots and not section.has(_Kind.GENERAL):
        return " ".join(section.literals.split())
    if number_format.lower() == "general":
        return general(value)
    text = _written(abs(value), section)
    conveyed = section is not sections[0] and not section.condition and section.literals != sections[0].literals
    minus = "-" if value < 0 and not conveyed and re.search("[1-9]", text) else ""
    return " ".join((minus + text).split())


def general(value: float) -> str:
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e16):
        return str(int(value))
    return format(value, ".15g")


@lru_cache(maxsize=2_000)
def _sections(number_format: str) -> tuple[_Section, ...]:
    """Return the sections for numbers: the last one is for texts if it has an ``@``."""
    sections: list[_Section] = []
    tokens: list[_Token] = []
    condition: tuple[str, float] | None = None
    english = False
    for found in (*_TOKEN.finditer(number_format), None):
        if found is None or found["end"]:
            sections.append(_Section(tokens=tuple(tokens), condition=condition, english=english))
            tokens, condition, english = [], None, False
        elif found["operator"]:
            condition = (found["operator"], float(found["number"]))
        else:
            english = english or bool(_ENGLISH.match(found["place"] or ""))
            tokens += _token(found)
    return tuple(section for section in sections if not section.has(_Kind.TEXT))


def _token(found: re.Match[str]) -> list[_Token]:
    for kind in (_Kind.GENERAL, _Kind.EXPONENT, _Kind.SLOT, _Kind.SLASH):
        if text := found[kind.name.lower()]:
            return [_Token(kind, text)]
    if other := found["other"]:
        return [_Token(_SIGNS.get(other, _Kind.LITERAL), " %" if other == "%" else other)]
    text = found["quoted"] or found["escaped"] or found["currency"]
    return [_Token(_Kind.LITERAL, text)] if text else []


def _applying(value: float, sections: tuple[_Section, ...]) -> _Section | None:
    if any(section.condition for section in sections):
        for section in sections:
            if section.condition is None or _COMPARE[section.condition[0]](value, section.condition[1]):
                return section
        return None
    place = 1 if value < 0 else 2 if value == 0 else 0
    return sections[place] if place < len(sections) else sections[0] if sections else None


def _written(value: float, section: _Section) -> str:
    decimal, group = (".", ",") if section.english else (",", ".")
    if section.has(_Kind.GENERAL):
        return _framed(section, general(value).replace(".", decimal))
    if section.has(_Kind.EXPONENT):
        exponent = next(place for place, token in enumerate(section.tokens) if token.kind is _Kind.EXPONENT)
        decimals = sum(section.point < place < exponent for place in section.slots)
        return _framed(section, f"{value:.{min(decimals, _MOST_DECIMALS)}E}".replace(".", decimal))
    slash = next((place for place, token in enumerate(section.tokens) if token.kind is _Kind.SLASH), 0)
    if slash - 1 in section.slots and (section.tokens[slash].text[1:] or slash + 1 in section.slots):
        return _framed(section, _fraction(value, section, slash))
    return _filled(value, section, decimal, group)


def _framed(section: _Section, number: str) -> str:
    """Return the number in the place of the slots."""
    places = [place for place, token in enumerate(section.tokens) if token.kind in (_Kind.SLOT, _Kind.GENERAL)]
    before, after = section.tokens[: places[0]], section.tokens[places[-1] + 1 :]
    return (
        "".join(token.text for token in before)
        + number
        + "".join(token.text for token in after if token.kind not in (_Kind.COMMA, _Kind.SLASH))
    )


def _fraction(value: float, section: _Section, slash: int) -> str:
    slots = min(sum(place > slash for place in section.slots), _MOST_DENOMINATOR_SLOTS)
    fixed = int(section.tokens[slash].text[1:] or 0)
    exact = (
        Fraction(round(Fraction(value) * fixed), fixed) if fixed else Fraction(value).limit_denominator(10**slots - 1)
    )
    below = fixed or exact.denominator
    above = int(exact * below)
    if any(token.text.isspace() for token in section.tokens[section.slots[0] : slash]):
        whole, above = divmod(above, below)
        return f"{whole or ''} {above}/{below}".strip() if above or not whole else str(whole)
    return f"{above}/{below}"


def _filled(value: float, section: _Section, decimal: str, group: str) -> str:
    """Fill the slots: before the point from the right, behind it from the left."""
    whole = [place for place in section.slots if place < section.point]
    behind = [place for place in section.slots if place > section.point][:_MOST_DECIMALS]
    scaled = Decimal(repr(value)).scaleb(section.power, _EXACT)
    rounded = scaled.quantize(Decimal(1).scaleb(-len(behind)), ROUND_HALF_UP, _EXACT)
    integer, _, decimals = f"{rounded:f}".partition(".")
    integer = integer.lstrip("0")
    needed = max((number for number, place in enumerate(behind, 1) if section.tokens[place].text == "0"), default=0)
    decimals = decimals[:needed] + decimals[needed:].rstrip("0")
    least = max(
        (len(whole) - number for number, place in enumerate(whole) if section.tokens[place].text == "0"), default=0
    )
    integer = integer.rjust(least, "0")
    filled = dict(zip(behind, decimals, strict=False))
    filled |= dict.fromkeys(whole, "")
    for place in reversed(whole):
        start = 0 if place == whole[0] else max(len(integer) - 1, 0)
        behind_it = sum(len(re.sub(r"\D", "", filled[other])) for other in whole if other > place)
        filled[place], integer = _grouped(integer[start:], behind_it, group if section.grouped else ""), integer[:start]
    if section.point < len(section.tokens):
        filled[section.point] = integer + (decimal if decimals else "")
    return "".join(
        filled.get(place, "")
        if token.kind is _Kind.SLOT or place == section.point
        else ""
        if token.kind is _Kind.COMMA
        else token.text
        for place, token in enumerate(section.tokens)
    )


def _grouped(digits: str, behind: int, group: str) -> str:
    """Put the mark behind each digit that has a multiple of three digits behind it."""
    rests = [behind + len(digits) - 1 - place for place in range(len(digits))]
    return "".join(digit + (group if rest and rest % 3 == 0 else "") for digit, rest in zip(digits, rests, strict=True))
