"""Values of cells as a spreadsheet shows them by their number format, in the Spanish way unless the format is English.

A file rarely says in which country its numbers are shown: that depends on the computer that opens it.
"""

import re
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from ragcorp.infrastructure.parsing.kinds.number_formats import shown_number

_PART = re.compile(
    r'"(?P<text>[^"]*)"|\\(?P<sign>.)|[_*].|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|\[(?P<elapsed>h+|m+|s+)\]|\[[^\]]*\]'
    r"|(?P<half>AM/PM|A/P)|(?P<date>y+|m+|d+|h+|s+|e+)|(?P<second>\.0+)(?!0)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
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
    return shown_number(value, number_format)


def shown_serial(value: float, number_format: str, *, since_1904: bool = False) -> str:
    """Return a number as it is shown; under the format of a date, it counts days, unless no calendar has that day."""
    found = [
        entry for entry in _PART.finditer(number_format.partition(";")[0]) if entry.lastgroup in ("date", "elapsed")
    ]
    if "general" in number_format.lower() or all(entry.group().lower().startswith("e") for entry in found):
        return shown(value, number_format)
    try:
        if any(entry.lastgroup == "elapsed" for entry in found):
            return shown(timedelta(days=value), number_format)
        since_first = timedelta(seconds=round(value * 86_400))
        if since_1904:
            return shown(datetime(1904, 1, 1) + since_first, number_format)  # noqa: DTZ001 - as the sheet has it
        if not 0 <= value < 1:
            first = datetime(1899, 12, 30 if value >= 60 else 31)  # noqa: DTZ001 - the 29th of February 1900 counts
            return shown(first + since_first, number_format) if value > 0 else shown(value, number_format)
        return shown(_time_of(since_first), number_format)
    except (OverflowError, ValueError):
        return shown(value, number_format)


def _date(value: date | time | timedelta, number_format: str) -> str:
    language = "en" if _ENGLISH.search(number_format) else "es"
    section = _SYSTEM.get(number_format.lower(), number_format.partition(";")[0])
    parts = [(found.lastgroup or "", found.group(found.lastgroup or 0)) for found in _PART.finditer(section)]
    if not any(kind in ("date", "elapsed") for kind, _ in parts):
        return str(value)
    if isinstance(value, timedelta) and value < timedelta():
        return f"-{_date(-value, number_format)}"
    codes = [text.lower() for kind, text in parts if kind in ("date", "elapsed")]
    if isinstance(value, time) and not any(code[0] in "hs" for code in codes):
        return "" if value == time() else str(value)
    clock = _time_of(value)
    pieces: list[str] = []
    half = any(kind == "half" for kind, _ in parts)
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
