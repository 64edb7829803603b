"""Workbooks: every visible sheet as a table of shown values."""

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.extraction import Request, extract, shielded
from ragcorp.infrastructure.parsing.kinds.labels import comment
from ragcorp.infrastructure.parsing.kinds.markdown import paragraph
from ragcorp.infrastructure.parsing.kinds.mending import mend
from ragcorp.infrastructure.parsing.kinds.package import (
    Package,
    attribute,
    child,
    children,
    local,
    paragraphs,
    transitional,
)
from ragcorp.infrastructure.parsing.kinds.pdf import real_title
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread
from ragcorp.infrastructure.parsing.kinds.sheets import Merged, sheet_section
from ragcorp.infrastructure.parsing.kinds.shown_values import shown, shown_serial
from ragcorp.infrastructure.parsing.limits import check_office_archive

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\b[^<>]{0,99}\bref=[\"']([A-Z]+\d+:[A-Z]+\d+)[\"']")
_MOST_MERGED = 10_000
_MOST_MERGED_ROWS = 1_000
_NO_RESULT = re.compile(
    rb"<c\b(?![^<>]*\st=[\"']str[\"'])[^<>]*>\s*<f\b[^<>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>|</c>)"
)
"""Cells with a formula and nothing else. A result that is marked as text may be empty."""


def read_xlsx(file: SourceFile, reading: Reading) -> ParsedText:
    """Read with openpyxl, which knows formats; kreuzberg reads what it refuses."""
    check_office_archive(file.content, "Excel", reading.max_characters)
    with shielded("Excel"):
        content = transitional(file.content)
        package = Package(content)
        book = package.main() or "xl/workbook.xml"
        relations = package.relations(book)
        sheets = {
            attribute(sheet, "name"): (relations[key].target, attribute(sheet, "state", "visible") == "visible")
            for sheet in children(child(package.xml(book), "sheets"), "sheet")
            if (key := next((value for name, value in sheet.items() if name.endswith("}id")), "")) in relations
        }
        hidden = [name for name, (_, visible) in sheets.items() if not visible]
        left_out = unread(UnreadKind.HIDDEN_SHEET, *hidden)
        left_out += unread(UnreadKind.IMAGE, count=package.count(r"^xl/media/"))
        parts = [part for part, visible in sheets.values() if visible]
        uncounted = sum(len(_NO_RESULT.findall(package.bytes_of(part))) for part in parts if "chart" not in part)
        left_out += unread(UnreadKind.FORMULA, count=uncounted)
        persons = {
            attribute(entry, "id"): attribute(entry, "displayName")
            for part in package.related(book, "person")
            for entry in part
        }
        notes = {name: _notes(package, part, persons) for name, (part, _) in sheets.items()}
        merged = {name: _merged(package.bytes_of(part)) for name, (part, visible) in sheets.items() if visible}
        try:
            sections = list(_sections(content, notes, merged, frozenset(hidden)))
        except Exception:  # noqa: BLE001 - openpyxl raises whatever comes up in styles that it does not know
            text = mend(extract(content, Request(media_type=media_types.XLSX), "Excel").text, escaped=True)
            names = {f"## {name}" for name in hidden}
            sections = [
                part for part in re.split(r"^(?=## )", text, flags=re.MULTILINE) if part.split("\n")[0] not in names
            ]
            left_out += unread(UnreadKind.FORMATTING, count=1)
        drawn = {
            name: [
                paragraph(line)
                for root in package.related(part, "drawing")
                for line in (*paragraphs(root), *_chart_titles(package, part))
            ]
            for name, (part, visible) in sheets.items()
            if visible
        }
        for name, lines in drawn.items():
            place = next((at for at, text in enumerate(sections) if text.startswith(f"## {name}\n")), len(sections))
            if lines:
                sections[place : place + 1] = ["\n\n".join([*(sections[place : place + 1] or [f"## {name}"]), *lines])]
    return ParsedText(text="\n\n".join(map(str.strip, sections)), title=real_title(package.title()), unread=left_out)


def _sections(
    data: bytes, notes: Mapping[str, Mapping[str, str]], merged: Mapping[str, Sequence[Merged]], hidden: frozenset[str]
) -> Iterator[str]:
    import openpyxl

    warnings.filterwarnings("ignore", module="openpyxl")
    with closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)) as book:
        for sheet in book.worksheets:
            if sheet.title in hidden:
                continue
            sheet.reset_dimensions()
            left = dict(notes.get(sheet.title, {}))
            rows = (_cells(row, number, left) if row else [] for number, row in enumerate(sheet.rows, 1))
            section = sheet_section(sheet.title, rows, merged.get(sheet.title, ()))
            yield "\n\n".join([section, *(paragraph(f"{cell}: {note}") for cell, note in left.items())])


def _cells(row: Iterable[object], number: int, notes: dict[str, str]) -> list[str]:
    """Return the texts of a row, and take the comments that they show from ``notes``."""
    cells = []
    for column, cell in enumerate(row, 1):
        value = getattr(cell, "value", None)
        if value is None and not notes:
            cells.append("")
            continue
        text = "" if value is None else shown(value, getattr(cell, "number_format", None) or "General")
        note = notes.pop(_coordinate(column, number), None) if notes else None
        cells.append(f"{text} ({note})".strip() if note else text)
    return cells


def _coordinate(column: int, row: int) -> str:
    from openpyxl.utils.cell import get_column_letter

    return f"{get_column_letter(column)}{row}"


def _merged(sheet: bytes) -> list[Merged]:
    from openpyxl.utils.cell import range_boundaries

    found = []
    for reference in _MERGED.findall(sheet)[:_MOST_MERGED]:
        with suppress(ValueError):
            left, top, right, bottom = range_boundaries(reference.decode())
            if bottom - top < _MOST_MERGED_ROWS:
                found.append(Merged(top - 1, left - 1, bottom - 1, right - 1))
    return found


def _chart_titles(package: Package, part: str) -> Iterator[str]:
    for relation in package.relations(part).values():
        if relation.kind == "drawing":
            for chart in package.related(relation.target, "chart"):
                for title in (entry for entry in chart.iter() if local(entry) == "title"):
                    yield from paragraphs(title)


def _notes(package: Package, sheet: str, persons: Mapping[str, str]) -> dict[str, str]:
    """Return the comments of a sheet by cell; a thread replaces the note that stands for it in old programs."""
    notes: dict[str, list[str]] = {}
    for root in package.related(sheet, "comments"):
        authors = [author.text or "" for author in children(child(root, "authors"), "author")]
        for entry in children(child(root, "commentList"), "comment"):
            text = "".join((part.text or "") for part in entry.iter() if local(part) == "t")
            number = attribute(entry, "authorId", "0")
            author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
            if not author.startswith("tc="):
                notes.setdefault(attribute(entry, "ref"), []).append(_note(author, text))
    for root in package.related(sheet, "threadedComment"):
        for entry in root:
            text = next((part.text or "" for part in children(entry, "text")), "")
            notes.setdefault(attribute(entry, "ref"), []).append(
                _note(persons.get(attribute(entry, "personId"), ""), text)
            )
    return {cell: "; ".join(texts) for cell, texts in notes.items()}


def _note(author: str, text: str) -> str:
    text = " ".join(text.split())
    return comment(author, text.removeprefix(f"{author}:").strip())


def read_xls(file: SourceFile, _: Reading) -> ParsedText:
    """Read a workbook of Excel 97 to 2003."""
    with shielded("Excel"):
        import xlrd

        with xlrd.open_workbook(file_contents=file.content, formatting_info=True, on_demand=True) as book:
            sheets = [book.sheet_by_index(index) for index in range(book.nsheets)]
            hidden = [sheet.name for sheet in sheets if sheet.visibility]
            sections = [
                sheet_section(sheet.name, ([_old_value(book, cell) for cell in row] for row in sheet.get_rows()))
                for sheet in sheets
                if not sheet.visibility
            ]
    return ParsedText(text="\n\n".join(sections), unread=unread(UnreadKind.HIDDEN_SHEET, *hidden))


def _old_value(book: Any, cell: Any) -> str:
    import xlrd

    number_format = book.format_map[book.xf_list[cell.xf_index].format_key].format_str
    if cell.ctype == xlrd.XL_CELL_DATE:
        return shown_serial(cell.value, number_format, since_1904=book.datemode == 1)
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    value = bool(cell.value) if cell.ctype == xlrd.XL_CELL_BOOLEAN else cell.value
    return shown(value, number_format) if value != "" else ""
