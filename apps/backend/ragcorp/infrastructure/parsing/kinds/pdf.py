"""PDF files."""

import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing.decoding import clean
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.form_fields import FormField, filled, form_fields, printed_labels
from ragcorp.infrastructure.parsing.kinds.labels import comment
from ragcorp.infrastructure.parsing.kinds.pdf_text import text_layer
from ragcorp.infrastructure.parsing.kinds.reading import Parts, Reading, Unread, unread
from ragcorp.infrastructure.parsing.kinds.scans import (
    MAX_SCANNED,
    STAMP_TEXT,
    name_of,
    not_recognized,
    pictured_pages,
    with_recognized,
)
from ragcorp.infrastructure.parsing.page_text import join_pages

_EMPTY_TITLES = frozenset(
    {"untitled", "(untitled)", "anonymous", "(anonymous)", "unspecified", "(unspecified)", "sin título", "title"}
    | {"powerpoint presentation", "presentación de powerpoint", "document", "documento"}
)
_EXTRAS = (b"/Annots", b"/ObjStm", b"/EmbeddedFiles")
_PAINTS = re.compile(rb"(?<![^\s])(?:Do|f\*?|F|B\*?|b\*?|S|s|sh|EI)(?![^\s])")
_COMMENTS = frozenset({"/Text", "/FreeText", "/Highlight", "/Underline", "/StrikeOut", "/Squiggly", "/Stamp", "/Caret"})


@dataclass(slots=True, kw_only=True)
class _Extras:
    """What a PDF has outside its text layer: ``fields`` and ``lines`` by page (from 0), empty pages, files."""

    fields: dict[int, list[FormField]] = field(default_factory=dict)
    lines: dict[int, list[str]] = field(default_factory=dict)
    blank: set[int] = field(default_factory=set)
    parts: Parts = field(default_factory=lambda: Parts(kind=UnreadKind.ATTACHMENT))
    unread: Unread = ()


def read_pdf(file: SourceFile, reading: Reading) -> ParsedText:
    """Read the text layer page by page, with the values of form fields at their labels, and comments at the end."""
    with shielded("PDF"):
        found = text_layer(file.content, max_characters=reading.max_characters)
    letters = [len(clean(page).strip()) for page in found.pages]
    extras = _extras(file.content, [number for number, count in enumerate(letters) if not count])
    scanned = _scanned(file.content, letters, extras)
    texts, confidences = with_recognized(found.pages, scanned, reading.recognized)
    with shielded("PDF"):
        labels = printed_labels(file.content, extras.fields)
    pages = [
        "\n".join(
            [
                filled(_clean_page(page), extras.fields.get(number, ()), labels.get(number, ())),
                *extras.lines.get(number, ()),
            ]
        )
        for number, page in enumerate(texts)
    ]
    text, starts = join_pages(pages, set(map(clean, found.headings)))
    if not clean(text).strip() and extras.parts.files:
        text = clean("Attachments: " + ", ".join(extras.parts.names))
    if scanned and not clean(text).strip():
        if not reading.recognizes:
            raise not_recognized("The PDF has no text layer: its pages are pictures")
        text = name_of(file)
    places = [str(page) for page in scanned if page not in confidences]
    return ParsedText(
        text=text,
        title=real_title(found.title),
        page_starts=starts,
        scanned=scanned[:MAX_SCANNED],
        recognized=confidences,
        unread=unread(UnreadKind.PAGE, *places) + extras.unread + extras.parts.unread,
        parts=tuple(extras.parts.files),
    )


def _scanned(data: bytes, letters: list[int], extras: _Extras) -> tuple[int, ...]:
    """Return the pages (from 1) that are pictures of text, maybe with a little text over them."""
    with shielded("PDF"):
        pictured = pictured_pages(
            data, {number: count for number, count in enumerate(letters) if 0 < count <= STAMP_TEXT}
        )
    bare = [number for number, count in enumerate(letters) if not count and number not in extras.blank]
    return tuple(number + 1 for number in sorted([*bare, *pictured]))


def _extras(data: bytes, empty: list[int]) -> _Extras:
    """Return what pypdf finds; a file that only PDFium understands has its annotations left out."""
    extras = _Extras()
    if not empty and not any(mark in data for mark in _EXTRAS):
        return extras
    with shielded("PDF"):
        import pypdf

        logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of every flaw of a file
        try:
            reader = pypdf.PdfReader(io.BytesIO(data))
            for number, page in enumerate(reader.pages):
                if fields := list(form_fields(page)):
                    extras.fields[number] = fields
                lines = ["- " + " ".join(clean(line).split()) for line in _annotations(page)]
                if lines:
                    extras.lines[number] = lines
                if number in empty and not _PAINTS.search(_drawing(page)):
                    extras.blank.add(number)
            for name, contents in reader.attachments.items():
                for content in contents:
                    extras.parts.add(name, content)
        except Exception:  # noqa: BLE001 - pypdf raises whatever comes up in a file that PDFium reads
            extras.unread = unread(UnreadKind.ANNOTATION, count=1)
    return extras


def _drawing(page: Any) -> bytes:
    contents = page.get_contents()
    return contents.get_data() if contents is not None else b""


def _annotations(page: Any) -> Iterator[str]:
    """Yield the comments."""
    for reference in page.get("/Annots") or ():
        annotation = reference.get_object()
        if annotation.get("/Subtype") in _COMMENTS and str(annotation.get("/Contents") or "").strip():
            yield comment(str(annotation.get("/T") or ""), str(annotation["/Contents"]))


def _clean_page(page: str) -> str:
    """Clean all but PDFium's mark of a hyphen, which is a control character."""
    return "\x02".join(clean(part) for part in re.split("[\x02\ufffe]", page))


def real_title(title: str | None) -> str | None:
    """Return the title of the file's properties, unless a program put a file name or a stock phrase there."""
    plain = " ".join((title or "").split())
    made_up = plain.lower() in _EMPTY_TITLES or re.search(r"\.[^\W\d]{2,4}$|^Microsoft \w+ - ", plain)
    return plain if plain and not made_up else None
