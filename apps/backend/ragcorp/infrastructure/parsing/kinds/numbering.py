"""Automatic numbers of paragraphs, as word processors show them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_ORDINALS = ("Primer", "Segund", "Tercer", "Cuart", "Quint", "Sext", "Séptim", "Octav", "Noven", "Décim")
_FEMININE = re.compile(r"(?:a|ión|dad)\W*%\d", re.IGNORECASE)
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"))
_ROMAN_UNITS = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """``template``: the shown text, with ``%1`` for the number of the first level and so on; "" without a number."""

    format: str
    template: str
    start: int = 1
    decimal: bool = False


@dataclass(slots=True, kw_only=True)
class NumberedList:
    """The numbers reached in a list, by level (from 0)."""

    levels: Mapping[int, Level]
    reached: dict[int, int] = field(default_factory=dict)

    def advance(self, level: int) -> str:
        """Count one more paragraph on the level and return its number; "" for bullets."""
        rule = self.levels.get(level)
        if rule is None:
            return ""
        self.reached[level] = self.reached.get(level, rule.start - 1) + 1
        for deeper in [other for other in self.reached if other > level]:
            del self.reached[deeper]
        return (
            "" if rule.format == "bullet" else re.sub(r"%(\d)", lambda found: self._shown(found, rule), rule.template)
        )

    def _shown(self, found: re.Match[str], rule: Level) -> str:
        level = int(found.group(1)) - 1
        its = self.levels.get(level, rule)
        number = self.reached.get(level, its.start)
        return _written(
            number, "decimal" if rule.decimal else its.format, feminine=bool(_FEMININE.search(rule.template))
        )


def _written(number: int, style: str, *, feminine: bool) -> str:
    if style == "none":
        return ""
    if style in ("lowerLetter", "upperLetter", "a", "A") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 9)
        return letter if style in ("lowerLetter", "a") else letter.upper()
    if style in ("lowerRoman", "upperRoman", "i", "I") and 0 < number < 4000:
        roman, rest = "", number
        for value, letters in _ROMAN + _ROMAN_UNITS:
            roman += letters * (rest // value)
            rest %= value
        return roman if style in ("lowerRoman", "i") else roman.upper()
    ending = "a" if feminine else "o"
    if style == "ordinalText" and 0 < number <= len(_ORDINALS):
        return _ORDINALS[number - 1] + ending
    if style in ("ordinal", "ordinalText"):
        return f"{number}.{'ª' if feminine else 'º'}"
    return f"{number:02}" if style == "decimalZero" else str(number)
