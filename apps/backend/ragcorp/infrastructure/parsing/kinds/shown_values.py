"""Values of cells as a spreadsheet shows them by their number format, in the Spanish way unless the format is English.

A file rarely says in which country its numbers are shown: that depends on the computer that opens it.
"""

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

_PART = re.compile(
    r'"(?P<text>[^"]*)"|\\(?P<sign>.)|[_*].|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|\[(?P<elapsed>h+|m+|s+)\]|\[[^\]]*\]'
    r"|(?P<half>AM/PM|A/P)|(?P<date>y+|m+|d+|h+|s+|e+)|(?P<second>\.0+)(?!0)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|[_*].|\[\$([^\]-]*)(?:-[^\]]*)?\]|\[[^\]]*\]|(\S|\s)', re.DOTALL)
_SECTIONS = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[^;])*)(?:;|$)', re.DOTALL)
_DIGITS = re.compile(r"[0#?][0#?,]*(?:\.[0#?]*)?|\.[0#?]+")
_ENGLISH = re.compile(r"\[\$[^\]-]*-(?:[0-9a-f]*[048c]09|en\b)", re.IGNORECASE)
_SYSTEM = {
    "mm-dd-yy": "dd/mm/yyyy",
    "m/d/yy h:mm": "dd/mm/yyyy h:mm",
    "[$-f800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy": 'dddd, d "de" mmmm "de" yyyy',
}
"""Formats that a spreadsheet shows as the computer's own date."""

_MONTHS = {
    "es": "enero,febrero,marzo,abril,mayo,junio,julio,agosto,septiembre,octubre,noviembre,diciembre",
    "en": "January,February,March,April,May,June,July,August,September,October,November,December",
}
_DAYS = {
    "es": "lunes,martes,miércoles,jueves,viernes,sábado,domingo",
    "en": "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
}
_MOST_DECIMALS = 30


class _Marks(NamedTuple):
    decimal: str
    group: str


@lru_cache(maxsize=20_000, typed=True)
def shown(value: object, number_format: str) -> str:
    """Return a value as it is shown; numbers and texts without a format as they are."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (datetime, date, time, timedelta)):
        return _date(value, number_format)
    if not isinstance(value, (int, float)):
        return str(value)
    sections = [part for part in _SECTIONS.findall(number_format) if part] or ["General"]
    section = sections[1] if value < 0 and len(sections) > 1 else sections[0]
    if value == 0 and len(sections) > 2:
        section = sections[2]
    plain = "".join(found[3] or "\0" for found in _LITERAL.findall(section))
    if "general" in section.lower() or "/" in plain:
        return _general(value)
    if not _DIGITS.search(plain):
        return _around(section, "").strip() or _general(value)
    marks = _Marks(".", ",") if _ENGLISH.search(section) else _Marks(",", ".")
    minus = "-" if value < 0 and section is sections[0] else ""
    return " ".join((minus + _number(abs(value), section, plain, marks)).split())


def shown_serial(value: float, number_format: str, *, since_1904: bool = False) -> str:
    """Return a number as it is shown; under the format of a date, it counts days."""
    found = [
        entry for entry in _PART.finditer(number_format.partition(";")[0]) if entry.lastgroup in ("date", "elapsed")
    ]
    if "general" in number_format.lower() or all(entry.group().lower().startswith("e") for entry in found):
        return shown(value, number_format)
    if any(entry.lastgroup == "elapsed" for entry in found):
        return shown(timedelta(days=value), number_format)
    days = round(value * 86_400) / 86_400
    return shown((datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)) + timedelta(days=days), number_format)  # noqa: DTZ001 - as the sheet has it


def _general(value: float) -> str:
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e16):
        return str(int(value))
    return format(value, ".11g")


def _number(value: float, section: str, plain: str, marks: _Marks) -> str:
    digits = _DIGITS.search(plain)
    pattern = digits.group() if digits else "0"
    if "e+" in plain.lower() or "e-" in plain.lower():
        return f"{value:.{len(pattern.partition('.')[2])}E}".replace(".", marks.decimal)
    whole, _, fraction = pattern.partition(".")
    scaled = Decimal(repr(value)) * 100 ** plain.count("%")
    if not fraction:
        scaled /= 1000 ** (len(whole) - len(whole.rstrip(",")))
    slots = sum(plain.count(slot) for slot in "0#?")
    rounded = scaled.quantize(Decimal(1).scaleb(-min(len(fraction), _MOST_DECIMALS)), rounding=ROUND_HALF_UP)
    if slots > len(whole.replace(",", "")) + len(fraction):
        return _masked(str(int(rounded)), section)
    integer, _, decimals = f"{rounded:f}".partition(".")
    least = fraction.count("0")
    decimals = decimals[:least] + decimals[least:].rstrip("0")
    integer = integer.lstrip("0").rjust(whole.count("0"), "0")
    if "," in whole.rstrip(","):
        integer = f"{int(integer or 0):,}".replace(",", marks.group) if integer else ""
    number = integer + (marks.decimal + decimals if decimals else "")
    return _around(section, number)


def _around(section: str, number: str) -> str:
    """Return the number within the literal text of its format."""
    pieces: list[str] = []
    placed = False
    for found in _LITERAL.finditer(section):
        text, sign, currency, other = found.groups()
        if other is None:
            pieces.append(text or sign or currency or "")
        elif other == "%":
            pieces.append(" %")
        elif other not in "0#?,.":
            pieces.append(other)
        elif not placed:
            pieces.append(number)
            placed = True
    return "".join(pieces)


def _masked(digits: str, section: str) -> str:
    """Return the digits in a format that has signs between them, as those of telephones do."""
    pieces: list[str] = []
    found = [entry.groups() for entry in _LITERAL.finditer(section)]
    slots = sum(1 for *_, other in found if other and other in "0#?")
    digits = digits.rjust(slots, "0")
    surplus, digits = digits[:-slots], digits[-slots:]
    for text, sign, currency, other in found:
        if other and other in "0#?":
            pieces.append(surplus + digits[0])
            surplus, digits = "", digits[1:]
        else:
            pieces.append(text or sign or currency or (other or "").strip(",") or "")
    return "".join(pieces)


def _date(value: date | time | timedelta, number_format: str) -> str:
    language = "en" if _ENGLISH.search(number_format) else "es"
    section = _SYSTEM.get(number_format.lower(), number_format.partition(";")[0])
    parts = [(found.lastgroup or "", found.group(found.lastgroup or 0)) for found in _PART.finditer(section)]
    if not any(kind in ("date", "elapsed") for kind, _ in parts):
        return str(value)
    clock = _time_of(value)
    pieces: list[str] = []
    half = any(kind == "half" for kind, _ in parts)
    codes = [text.lower() for kind, text in parts if kind in ("date", "elapsed")]
    seen = 0
    for kind, text in parts:
        if kind in ("date", "elapsed"):
            near = (codes[seen - 1][0] if seen else "") == "h" or codes[seen + 1 : seen + 2] in (["s"], ["ss"])
            seen += 1
            minutes = text[0] in "mM" and near
            pieces.append(
                _elapsed(value, text) if kind == "elapsed" else _field(value, text.lower(), minutes, half, language)
            )
        elif kind == "half":
            pieces.append("AM" if clock.hour < 12 else "PM")
        elif kind in ("text", "sign", "other"):
            pieces.append(text)
    whole = "".join(pieces).strip()
    if isinstance(value, datetime) and value.time() == time():
        whole = re.sub(r"[ T]0?0:00(?::00)?$", "", whole)
    return whole


def _time_of(value: date | time | timedelta) -> time:
    if isinstance(value, timedelta):
        return (datetime(1900, 1, 1) + timedelta(seconds=value.total_seconds() % 86_400)).time()  # noqa: DTZ001 - a clock alone
    return value.time() if isinstance(value, datetime) else value if isinstance(value, time) else time()


def _elapsed(value: date | time | timedelta, code: str) -> str:
    clock = _time_of(value)
    if not isinstance(value, timedelta):
        value = timedelta(hours=clock.hour, minutes=clock.minute, seconds=clock.second)
    unit = {"h": 3600, "m": 60, "s": 1}[code[0].lower()]
    return str(round(value.total_seconds()) // unit).zfill(len(code))


def _field(value: date | time | timedelta, code: str, minutes: bool, half: bool, language: str) -> str:
    clock = _time_of(value)
    if code[0] in "hs" or minutes:
        hour = (clock.hour + 11) % 12 + 1 if half else clock.hour
        return str({"h": hour, "s": clock.second}.get(code[0], clock.minute)).zfill(min(len(code), 2))
    if not isinstance(value, date):
        return ""
    if code[0] in "ye":
        return f"{value.year:04}" if len(code) > 2 or code[0] == "e" else f"{value.year % 100:02}"
    names = (_MONTHS if code[0] == "m" else _DAYS)[language].split(",")
    name = names[value.month - 1 if code[0] == "m" else value.weekday()]
    number = value.month if code[0] == "m" else value.day
    return str(number).zfill(len(code)) if len(code) < 3 else name[:3] if len(code) == 3 else name
