"""Calendars and contacts: an entry for each event, task or person."""

import html
import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.infrastructure.parsing.decoding import decode, text_of
from ragcorp.infrastructure.parsing.kinds.markdown import paragraph
from ragcorp.infrastructure.parsing.kinds.reading import Reading

_HEAD = re.compile(r'((?:[^":]++|"[^"]*+")*+):')
_PARAMETER = re.compile(r';([^;="]+)(?:=((?:[^;"]++|"[^"]*+")*+))?')
_ESCAPE = re.compile(r"\\([\\,;nN])")
_DATE = re.compile(r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d):?\d\d(Z)?)?(?!\d)")
_DATED = re.compile(r"DT|BDAY|DUE|COMPLETED|ANNIVERSARY|EXDATE|RDATE|RECURRENCE-ID|RRULE|DEATHDATE")
_FIELDS = re.compile(r"(?<!\\);")
_UNSHOWN = frozenset(("VERSION", "PRODID", "UID", "DTSTAMP", "SEQUENCE", "CALSCALE", "METHOD", "REV", "CREATED"))
_UNSHOWN |= frozenset(("PHOTO", "LOGO", "KEY", "SOUND", "N", "FN", "SUMMARY", "TRANSP", "LAST-MODIFIED"))
_SKIPPED = ("VALARM", "VTIMEZONE")
_NO_TYPES = frozenset(("", "PREF", "VOICE", "INTERNET", "QUOTED-PRINTABLE", "BASE64", "8BIT"))
_MOST_HEAD = 200
"""Characters in which an encoding is looked for, line by line."""


class _Property(NamedTuple):
    name: str
    parameters: dict[str, list[str]]

    def parameter(self, name: str) -> str:
        return ",".join(self.parameters.get(name, ()))

    value: str


@dataclass(slots=True, kw_only=True)
class _Entry:
    names: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    start: date = date.min

    def text(self) -> str:
        name = next((self.names[key] for key in ("SUMMARY", "FN", "N") if self.names.get(key)), "")
        return "\n\n".join(filter(None, (name and f"## {name}", "\n".join(self.lines))))


def read_records(source: SourceFile, _: Reading) -> ParsedText:
    """Return an entry for each event, task or contact: its name as heading, its properties one a line."""
    entries: list[_Entry] = []
    within: list[_Entry | None] = []
    for line in _lines(text_of(source)):
        entry = within[-1] if within else None
        found = _property(line)
        if found is None:
            continue
        if found.name == "BEGIN":
            skipped = found.value.strip().upper() in _SKIPPED or (within and entry is None)
            within.append(None if skipped else _Entry())
            entries += filter(None, within[-1:])
        elif found.name == "END":
            del within[-1:]
        elif entry is not None:
            _add(entry, found)
    return ParsedText(text="\n\n".join(filter(None, (entry.text() for entry in entries))))


def _lines(text: str) -> Iterator[str]:
    """Yield whole properties. A line goes on behind a blank, in quoted-printable also behind an equals sign."""
    pieces: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if (
            pieces
            and pieces[-1].endswith("=")
            and "QUOTED-PRINTABLE" in pieces[0][:_MOST_HEAD].partition(":")[0].upper()
        ):
            pieces[-1] = pieces[-1][:-1]
            pieces.append(line)
        elif pieces and line.startswith((" ", "\t")):
            pieces.append(line[1:])
        else:
            yield "".join(pieces)
            pieces = [line]
    yield "".join(pieces)


def _property(line: str) -> _Property | None:
    head = _HEAD.match(line)
    if head is None:
        return None
    name = head[1].partition(";")[0]
    parameters: dict[str, list[str]] = {}
    for key, value in _PARAMETER.findall(head[1][len(name) :]):
        parameters.setdefault(key.upper() if value else "TYPE", []).append(value.replace('"', "") or key)
    found = _Property(name.rpartition(".")[2].strip().upper(), parameters, line[head.end() :])
    encoding = (found.parameter("ENCODING") or found.parameter("TYPE")).upper()
    if "QUOTED-PRINTABLE" in encoding:
        text = decode(quopri.decodestring(found.value.encode()), declared=found.parameter("CHARSET"))
        return found._replace(value=text)
    return None if encoding in ("B", "BASE64") else found


def _add(entry: _Entry, found: _Property) -> None:
    name = found.name
    fields = [_plain(part) for part in _FIELDS.split(found.value)]
    shown = ", ".join(filter(None, fields)) if name in ("ADR", "ORG") else _plain(found.value)
    if name == "N":
        family, given, *others = *fields, "", ""
        entry.names[name] = " ".join(filter(None, (given, *others[:1], family)))
    elif name in ("FN", "SUMMARY"):
        entry.names[name] = shown
    if name in _UNSHOWN or name.startswith("X-") or not shown.strip(" ;"):
        return
    types = [word for word in found.parameter("TYPE").split(",") if word.upper() not in _NO_TYPES]
    label = name.capitalize() + (f" ({', '.join(types).lower()})" if types and name in ("TEL", "EMAIL", "ADR") else "")
    if name in ("ATTENDEE", "ORGANIZER"):
        shown = _person(found, shown)
    elif name == "DTEND" and (last := _last_day(entry.start, shown)):
        shown = last
    elif _DATED.match(name):
        entry.start = (name == "DTSTART" and _day(shown)) or entry.start
        shown = _DATE.sub(_shown_date, shown)
    entry.lines.append(paragraph(f"{label}: {html.unescape(shown)}"))


def _plain(value: str) -> str:
    return " ".join(_ESCAPE.sub(lambda found: " " if found[1] in "nN" else found[1], value).split())


def _person(found: _Property, address: str) -> str:
    name, address = found.parameter("CN"), re.sub(r"^mailto:", "", address, flags=re.IGNORECASE)
    shown = f"{name} ({address})" if name and name != address else address
    return ", ".join(filter(None, (shown, found.parameter("PARTSTAT").lower().replace("-", " "))))


def _day(value: str) -> date | None:
    found = _DATE.match(value)
    try:
        return date(*map(int, found.groups()[:3])) if found else None
    except ValueError:
        return None


def _last_day(start: date, end: str) -> str | None:
    """Return the last of whole days: their end is the day after."""
    day = _day(end)
    if day is None or "T" in end or day == date.min:
        return None
    return f"{max(day - timedelta(days=1), start):%d/%m/%Y}"


def _shown_date(found: re.Match[str]) -> str:
    year, month, day, hour, minute, utc = found.groups()
    if _day(found[0]) is None:
        return found[0]
    return f"{day}/{month}/{year}" + (f" {hour}:{minute}" if hour else "") + (" UTC" if utc else "")
