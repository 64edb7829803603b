"""One function per rich format: from a file to raw text."""

import html
import io
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import MIMEPart

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.markdown_blocks import MAX_HEADING_CHARACTERS, plain_heading
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.decoding import clean, decode, text_of
from ragcorp.infrastructure.parsing.extraction import Request, extract, shielded
from ragcorp.infrastructure.parsing.limits import check_office_archive, too_large
from ragcorp.infrastructure.parsing.page_text import join_pages

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{~}\]])")
_STRUCTURAL = frozenset("#>-+=~`")
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\((?:<>|data:[^()\s]*)?\)")
_SPACES = re.compile(r" {2,}")
_SEPARATOR = re.compile(r"\|(?: ?:?-+:? ?\|)+")
_BLANK_ROW = re.compile(r"\|[ |]*")
_MIDNIGHT = re.compile(r"(?<=\| )(\d{4}-\d{2}-\d{2}) 00:00:00(?= \|)")
_TIME_ONLY = re.compile(r"(?<=\| )1899-12-3[01] (\d{2}:\d{2}:\d{2})(?= \|)")

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_SIGNATURE = re.compile(r"\n-- ?(?=\n)")

_META_CHARSET = re.compile(rb"charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})", re.IGNORECASE)
_HEAD_TAG = re.compile(r"<(?:meta|link|base)\b[^<>]*>", re.IGNORECASE)
_OPENING_TAG = re.compile(r"<[a-z]", re.IGNORECASE)
_MAX_HTML_DEPTH = 63
"""Kreuzberg 4.10 omits deeper elements."""

_HEADING_LINE = re.compile(rf"^#{{1,6}} (.{{1,{MAX_HEADING_CHARACTERS}}})$", re.MULTILINE)
_SLIDE_MARKER = "@@ragcorp-slide-{page_num}-ba51d5@@"
_SLIDE = re.compile(r"@@ragcorp-slide-\d+-ba51d5@@")
_NOTES = "\n\nNotes:\n\n"
_DOCX_STYLES = "\n".join(
    ["p[style-name='Title'] => h1:fresh", "p[style-name='Título'] => h1:fresh"]
    + [
        f"p[style-name='{name} {level}'] => h{level}:fresh"
        for name in ("Título", "Encabezado")
        for level in range(1, 7)
    ]
)
_EMPTY_TITLES = frozenset({"untitled", "sin título", "powerpoint presentation", "presentación de powerpoint"})


def read_html(file: SourceFile) -> ParsedText:
    declared = _META_CHARSET.search(file.content[:2048])
    source = text_of(file, declared=declared.group(1).decode("ascii") if declared else None)
    markdown, title = html_to_markdown(source)
    if not markdown.strip() and len(_OPENING_TAG.findall(source)) > _MAX_HTML_DEPTH:
        raise UnreadableDocumentError(
            "The HTML gives no text: it holds none, or is nested too deeply.",
            field="content",
            limit=f"{_MAX_HTML_DEPTH} levels",
            remedy="Send flatter HTML, or its text.",
        )
    return ParsedText(text=markdown, title=title)


def html_to_markdown(source: str) -> tuple[str, str | None]:
    """Return Markdown and the ``<title>``. Removes head tags, which would become front matter."""
    lowered = source.lower() if len(source.lower()) == len(source) else source
    title = None
    opening = lowered.find("<title")
    start = lowered.find(">", opening) + 1 if opening >= 0 else 0
    closing = lowered.find("</title", start) if start else -1
    if closing >= 0:
        title = html.unescape(source[start:closing])
        source = source[:opening] + source[closing + len("</title>") :]
    body = _HEAD_TAG.sub("", source)
    return mend(extract(body.encode(), Request(media_type=media_types.HTML), "HTML").text, escaped=False), title


def read_docx(data: bytes, max_characters: int) -> ParsedText:
    """Read through mammoth: kreuzberg 4.10 loses ``&``, ``<``, ``>`` and tabs of Word files, and their lists."""
    check_office_archive(data, "Word", max_characters)
    with shielded("Word"):
        import mammoth  # type: ignore[import-untyped,import-not-found,unused-ignore]

        without_images = mammoth.images.img_element(lambda _: {"src": ""})
        converted = mammoth.convert_to_html(io.BytesIO(data), convert_image=without_images, style_map=_DOCX_STYLES)
        source = str(converted.value)
    return ParsedText(text=html_to_markdown(source)[0])


def read_xlsx(data: bytes, max_characters: int) -> ParsedText:
    check_office_archive(data, "Excel", max_characters)
    found = extract(data, Request(media_type=media_types.XLSX), "Excel")
    return ParsedText(text=mend(found.text, escaped=True), title=found.title)


def read_csv(file: SourceFile) -> ParsedText:
    found = extract(clean(text_of(file)).encode(), Request(media_type=media_types.CSV), "CSV")
    return ParsedText(text=mend(found.text, escaped=True))


def read_pptx(data: bytes, max_characters: int) -> ParsedText:
    """Read slides as pages with their speaker notes, which only kreuzberg's plain rendering includes."""
    check_office_archive(data, "PowerPoint", max_characters)
    found = extract(data, Request(media_type=media_types.PPTX, page_marker=_SLIDE_MARKER), "PowerPoint")
    plain = extract(data, Request(media_type=media_types.PPTX, page_marker=_SLIDE_MARKER, markdown=False), "PowerPoint")
    slides = _SLIDE.split(found.text)[1:] or [found.text]
    notes = [slide.partition(_NOTES)[2] for slide in _SLIDE.split(plain.text)[1:]]
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for number, slide in enumerate(slides):
        note = notes[number].strip() if len(notes) == len(slides) else ""
        text = clean("\n\n".join(part for part in (mend(slide, escaped=True).strip(), note) if part))
        starts.append(length)
        if text:
            parts.append(text + "\n\n")
            length += len(parts[-1])
    text = "".join(parts).rstrip()
    first = _HEADING_LINE.search(text)
    return ParsedText(
        text=text,
        title=_real_title(found.title) or (plain_heading(first.group(1)) if first else None),
        page_starts=tuple(min(start, len(text)) for start in starts),
    )


def read_pdf(data: bytes, max_characters: int, *, properties: bool = True) -> ParsedText:
    """Read the text layer page by page.

    Kreuzberg's Markdown of a PDF loses single headings and shows prose as tables, so that it only tells which
    lines look like headings.
    """
    found = extract(data, Request(media_type=media_types.PDF, properties=properties), "PDF")
    if sum(map(len, found.pages)) > max_characters:
        raise too_large(max_characters)
    headings = {plain_heading(line) for line in _HEADING_LINE.findall(found.text)}
    text, starts = join_pages([_clean_page(page) for page in found.pages], headings)
    if not clean(text).strip():
        raise UnreadableDocumentError(
            "The PDF has no text layer: its pages are images (a scan).",
            field="content",
            remedy="Run OCR on it, for example with ocrmypdf, and ingest the result.",
        )
    return ParsedText(text=text, title=_real_title(found.title), page_starts=starts)


def _clean_page(page: str) -> str:
    """Clean all but PDFium's mark of a hyphen, which is a control character."""
    return "\x02".join(clean(part) for part in re.split("[\x02\ufffe]", page))


def _real_title(title: str | None) -> str | None:
    """Return the title of the file's properties, unless a program put a file name or a stock phrase there."""
    plain = " ".join((title or "").split())
    made_up = plain.lower() in _EMPTY_TITLES or re.search(r"\.\w{2,4}$|^Microsoft \w+ - ", plain)
    return plain if plain and not made_up else None


def read_email(data: bytes, _: int) -> ParsedText:
    """Return headers, one a line, then the plain body, else the HTML one as Markdown. The title is the subject."""
    with shielded("mail"):
        message = message_from_bytes(data, policy=policy.default)
        headers = {name: " ".join(str(message[name]).split()) for name in _SHOWN if message[name]}
        names = [part.get_filename() for part in message.iter_attachments()] if message.is_multipart() else []
        body = message.get_body(preferencelist=("plain", "html"))
        text = _content(body) if body is not None else ""
        if body is not None and body.get_content_type() == "text/html":
            text = html_to_markdown(text)[0]
    attached = ", ".join(name for name in names if name)
    lead = [f"{name}: {value}" for name, value in headers.items()] + ([f"Attachments: {attached}"] if attached else [])
    plain = _SIGNATURE.sub("\n\n--", text.replace("\r\n", "\n")).strip()
    if not plain and not attached:
        lead = []
    return ParsedText(text="\n".join(lead) + "\n\n" + plain, title=headers.get("Subject"))


def _content(part: MIMEPart) -> str:
    payload = part.get_payload(decode=True)
    return decode(payload, declared=part.get_content_charset()) if isinstance(payload, bytes) else ""


def mend(markdown: str, *, escaped: bool) -> str:
    """Undo padding and escapes in tables, and escapes elsewhere where ``escaped``; drop embedded images, blank rows.

    A blank line is put after a table that has none, and dates of a workbook lose a time that is midnight.
    """
    return "\n".join(_mended(_IMAGE.sub(r"\1", markdown).split("\n"), escaped=escaped)).strip("\n")


def _mended(lines: list[str], *, escaped: bool) -> Iterator[str]:
    fenced = False
    in_table = False
    for index, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
        is_row = line.startswith("|") and not fenced
        if in_table and not is_row and line.strip():
            yield ""
        in_table = is_row
        if not is_row:
            yield _unescaped(line) if escaped and not fenced else line
            continue
        row = _row(line)
        after = lines[index + 1] if index + 1 < len(lines) else ""
        if not _BLANK_ROW.fullmatch(row) or _SEPARATOR.fullmatch(_SPACES.sub(" ", after)):
            yield row


def _row(line: str) -> str:
    squeezed = _SPACES.sub(" ", line).rstrip()
    if _SEPARATOR.fullmatch(squeezed):
        return "| " + " | ".join("---" for _ in range(squeezed.count("|") - 1)) + " |"
    return _TIME_ONLY.sub(r"\1", _MIDNIGHT.sub(r"\1", _unescaped(squeezed)))


def _unescaped(line: str) -> str:
    indent = len(line) - len(line.lstrip())

    def plain(found: re.Match[str]) -> str:
        starts_block = found.group(1) in _STRUCTURAL and found.start() <= indent
        return found.group() if starts_block or found.group(1) == "|" else found.group(1)

    return _ESCAPE.sub(plain, line)
