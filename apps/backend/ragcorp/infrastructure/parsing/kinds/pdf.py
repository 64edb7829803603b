"""PDF files."""

import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.markdown_blocks import MAX_HEADING_CHARACTERS, plain_heading
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.decoding import clean
from ragcorp.infrastructure.parsing.extraction import Request, extract, shielded
from ragcorp.infrastructure.parsing.kinds.columns import reordered_pages
from ragcorp.infrastructure.parsing.kinds.reading import Reading, Unread, read_members, unread
from ragcorp.infrastructure.parsing.kinds.scans import (
    LITTLE_TEXT,
    name_of,
    not_recognized,
    pictured_pages,
    with_recognized,
)
from ragcorp.infrastructure.parsing.limits import too_large
from ragcorp.infrastructure.parsing.page_text import join_pages

_HEADING_LINE = re.compile(rf"^#{{1,6}} (.{{1,{MAX_HEADING_CHARACTERS}}})$", re.MULTILINE)
_EMPTY_TITLES = frozenset(
    {"untitled", "(untitled)", "anonymous", "(anonymous)", "unspecified", "(unspecified)", "sin título", "title"}
    | {"powerpoint presentation", "presentación de powerpoint", "document", "documento"}
)
_EXTRAS = (b"/Annots", b"/ObjStm", b"/EmbeddedFiles")
_PAINTS = re.compile(rb"(?<![^\s])(?:Do|f\*?|F|B\*?|b\*?|S|s|sh|EI)(?![^\s])")
_COMMENTS = frozenset({"/Text", "/FreeText", "/Highlight", "/Underline", "/StrikeOut", "/Squiggly", "/Stamp", "/Caret"})


@dataclass(slots=True, kw_only=True)
class _Extras:
    """What a PDF has beside its text layer: ``lines`` by page (from 0), pages without marks on them, files."""

    lines: dict[int, list[str]] = field(default_factory=dict)
    blank: set[int] = field(default_factory=set)
    files: list[SourceFile] = field(default_factory=list)
    unread: Unread = ()


def read_pdf(file: SourceFile, reading: Reading) -> ParsedText:
    """Read the text layer page by page, with form fields and annotations at the end of each.

    Kreuzberg's Markdown of a PDF loses single headings and shows prose as tables, so that it only tells which
    lines look like headings.
    """
    found = extract(file.content, Request(media_type=media_types.PDF, properties=reading.properties), "PDF")
    if sum(map(len, found.pages)) > reading.max_characters:
        raise too_large(reading.max_characters)
    with shielded("PDF"):
        found.pages[:] = _in_reading_order(file.content, found.pages)
    headings = {plain_heading(line) for line in _HEADING_LINE.findall(found.text)}
    letters = [len(clean(page).strip()) for page in found.pages]
    empty = [number for number, count in enumerate(letters) if not count]
    extras = _extras(file.content, empty)
    scanned = _scanned(file.content, letters, extras)
    texts, confidences = with_recognized(found.pages, scanned, reading.recognized)
    pages = ["\n".join([_clean_page(page), *extras.lines.get(number, ())]) for number, page in enumerate(texts)]
    text, starts = join_pages(pages, headings)
    sections, left_out = read_members(extras.files, reading, UnreadKind.ATTACHMENT)
    text = "\n\n".join([text, *map(clean, sections)])
    if not clean(text).strip():
        if not reading.recognizes:
            raise not_recognized("The PDF has no text layer: its pages are pictures")
        text = name_of(file)
    places = [str(page) for page in scanned if page not in confidences]
    return ParsedText(
        text=text,
        title=real_title(found.title),
        page_starts=starts,
        scanned=scanned,
        recognized=confidences,
        unread=unread(UnreadKind.PAGE, *places) + extras.unread + left_out,
    )


def _scanned(data: bytes, letters: list[int], extras: _Extras) -> tuple[int, ...]:
    """Return the pages (from 1) that are pictures of text, maybe with a little text over them."""
    stamped = [number for number, count in enumerate(letters) if 0 < count <= LITTLE_TEXT]
    with shielded("PDF"):
        pictured = pictured_pages(data, stamped)
    empty = [number for number, count in enumerate(letters) if not count]
    bare = [number for number in empty if number not in extras.blank and number not in extras.lines]
    return tuple(number + 1 for number in sorted([*bare, *pictured]))


def _in_reading_order(data: bytes, pages: list[str]) -> list[str]:
    reordered = reordered_pages(data)
    return [reordered.get(number, page) for number, page in enumerate(pages)]


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
                lines = ["- " + " ".join(clean(line).split()) for line in _annotations(page)]
                if lines:
                    extras.lines[number] = lines
                if number in empty and not _PAINTS.search(_drawing(page)):
                    extras.blank.add(number)
            for name, contents in reader.attachments.items():
                extras.files += [SourceFile(content=content, media_type="", filename=name) for content in contents]
        except Exception:  # noqa: BLE001 - pypdf raises whatever comes up in a file that PDFium reads
            extras.unread = unread(UnreadKind.ANNOTATION, count=1)
    return extras


def _drawing(page: Any) -> bytes:
    contents = page.get_contents()
    return contents.get_data() if contents is not None else b""


def _annotations(page: Any) -> Iterator[str]:
    """Yield the filled fields of forms, ``name: value``, and the comments."""
    for reference in page.get("/Annots") or ():
        annotation = reference.get_object()
        kind = annotation.get("/Subtype")
        if kind == "/Widget":
            value = _inherited(annotation, "/V")
            values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
            shown = ", ".join(str(entry) for entry in values if isinstance(entry, str) and entry != "/Off")
            if _inherited(annotation, "/FT") == "/Btn":
                shown = "" if annotation.get("/AS", "/Off") in ("/Off", "") else shown.removeprefix("/")
            if shown.strip():
                yield f"{_inherited(annotation, '/TU') or _inherited(annotation, '/T') or ''}: {shown}"
        elif kind in _COMMENTS and str(annotation.get("/Contents") or "").strip():
            yield f"Comentario de {annotation.get('/T') or '?'}: {annotation['/Contents']}"


def _inherited(annotation: Any, key: str) -> Any:
    """Return an entry of a field, or of those above it."""
    for _ in range(20):
        if key in annotation:
            return annotation[key]
        if "/Parent" not in annotation:
            break
        annotation = annotation["/Parent"]
    return None


def _clean_page(page: str) -> str:
    """Clean all but PDFium's mark of a hyphen, which is a control character."""
    return "\x02".join(clean(part) for part in re.split("[\x02\ufffe]", page))


def real_title(title: str | None) -> str | None:
    """Return the title of the file's properties, unless a program put a file name or a stock phrase there."""
    plain = " ".join((title or "").split())
    made_up = plain.lower() in _EMPTY_TITLES or re.search(r"\.\w{2,4}$|^Microsoft \w+ - ", plain)
    return plain if plain and not made_up else None
