"""Files of records: tables as text, calendars and contacts."""

import csv
import html
import io
import quopri
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.decoding import clean, text_of
from ragcorp.infrastructure.parsing.kinds.markdown import paragraph
from ragcorp.infrastructure.parsing.kinds.reading import Reading
from ragcorp.infrastructure.parsing.kinds.sheets import sheet_blocks

_SEPARATOR_LINE = re.compile(r'\A"?sep=(.)"?[^\S\n]*(?:\n|\Z)', re.IGNORECASE)
_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 64_000
_SAMPLE_ROWS = 200
_FOLD = re.compile(r"\r?\n[ \t]")
_SOFT_BREAK = re.compile(r"=\r?\n")
_LINE = re.compile(r"(?:[\w-]+\.)?([\w-]+)((?:;[^:\"]*(?:\"[^\"]*\")?)*):(.*)")
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d)(\d\d)\d\dZ?)?")
_ESCAPE = re.compile(r"\\([\\,;nN])")
_HEADINGS = ("SUMMARY", "FN")
_UNSHOWN = frozenset(("BEGIN", "END", "VERSION", "PRODID", "UID", "DTSTAMP", "SEQUENCE", "CALSCALE", "METHOD", "REV"))
_UNSHOWN |= frozenset(("PHOTO", "LOGO", "KEY", "N", "TRANSP", "CREATED", "LAST-MODIFIED", "ACTION", "TRIGGER"))
_UNSHOWN |= frozenset(("TZID", "TZOFFSETFROM", "TZOFFSETTO", "TZNAME"))


def read_csv(file: SourceFile, _: Reading) -> ParsedText:
    """Return the tables; a first line ``sep=;`` names the separator of Excel."""
    text = clean(text_of(file))
    named = _SEPARATOR_LINE.match(text)
    if named:
        return ParsedText(text="\n\n".join(sheet_blocks(_rows(text[named.end() :], named.group(1)))))
    separator = "\t" if file.media_type == media_types.TSV else _separator(text)
    return ParsedText(text="\n\n".join(sheet_blocks(_rows(text, separator))))


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(max(len(text), 1))
    return csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=separator != "\t")


def _separator(text: str) -> str:
    """Return the separator that cuts the most rows into the same number of columns."""
    sample = text[:_SAMPLE]

    def evenness(separator: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in islice(_rows(sample, separator), _SAMPLE_ROWS) if row)
        del widths[1]
        return max(((rows, width) for width, rows in widths.items()), default=(0, 0))

    return max(_SEPARATORS, key=evenness)


def read_records(file: SourceFile, _: Reading) -> ParsedText:
    """Return an entry for each event, task or contact: its name as heading, its properties one a line."""
    text = _FOLD.sub("", _SOFT_BREAK.sub("", text_of(file)))
    entries: list[list[str]] = []
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        name, parameters, value = found.group(1).upper(), found.group(2).upper(), found.group(3)
        if name == "BEGIN":
            entries.append([])
        if name in _UNSHOWN or name.startswith("X-") or not entries or not value.strip(" ;"):
            continue
        if "QUOTED-PRINTABLE" in parameters:
            value = quopri.decodestring(value.encode()).decode(errors="replace")
        shown = " ".join(_ESCAPE.sub(lambda found: " " if found.group(1) in "nN" else found.group(1), value).split())
        shown = (
            _DATE.sub(_shown_date, shown) if name.startswith("DT") or name in ("BDAY", "DUE", "COMPLETED") else shown
        )
        if name in _HEADINGS:
            entries[-1].insert(0, f"## {shown}")
        else:
            entries[-1].append(paragraph(f"{name.capitalize()}: {html.unescape(shown)}"))
    return ParsedText(text="\n\n".join("\n\n".join([*entry[:1], "\n".join(entry[1:])]) for entry in entries if entry))


def _shown_date(found: re.Match[str]) -> str:
    year, month, day, hour, minute = found.groups()
    try:
        datetime(int(year), int(month), int(day))  # noqa: DTZ001 - checks the numbers only
    except ValueError:
        return found.group()
    return f"{day}/{month}/{year}" + (f" {hour}:{minute}" if hour else "")
