"""The parser of all supported file kinds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType

from ragcorp.domain.documents import MAX_CHARACTERS, ParsedText, SourceFile, UnreadKind
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.decoding import clean, text_of
from ragcorp.infrastructure.parsing.kinds.archives import read_epub, read_zip
from ragcorp.infrastructure.parsing.kinds.delimited import read_csv
from ragcorp.infrastructure.parsing.kinds.image import read_image
from ragcorp.infrastructure.parsing.kinds.mail import read_email, read_msg
from ragcorp.infrastructure.parsing.kinds.open_document import read_odf
from ragcorp.infrastructure.parsing.kinds.other import read_other
from ragcorp.infrastructure.parsing.kinds.pdf import read_pdf
from ragcorp.infrastructure.parsing.kinds.reading import Reader, Reading, unread
from ragcorp.infrastructure.parsing.kinds.records import read_records
from ragcorp.infrastructure.parsing.kinds.rtf import read_rtf
from ragcorp.infrastructure.parsing.kinds.slides import read_pptx
from ragcorp.infrastructure.parsing.kinds.web import read_html
from ragcorp.infrastructure.parsing.kinds.word import read_docx
from ragcorp.infrastructure.parsing.kinds.workbook import read_xls, read_xlsx
from ragcorp.infrastructure.parsing.limits import too_large
from ragcorp.infrastructure.parsing.outline import first_title

_MAX_TITLE = 300


def _read_text(file: SourceFile, _: Reading) -> ParsedText:
    return ParsedText(text=text_of(file))


def _read_code(file: SourceFile) -> ParsedText:
    """Return the text with the lines that a search in the file counts: a lone carriage return ends none."""
    text = text_of(file).replace("\r\n", "\n").replace("\r", " ")
    return ParsedText(text=text, title=PurePosixPath(file.filename.replace("\\", "/")).name, plain=True)


_READERS: Mapping[str, Reader] = MappingProxyType(
    {
        media_types.MARKDOWN: _read_text,
        media_types.PLAIN: _read_text,
        media_types.HTML: read_html,
        media_types.CSV: read_csv,
        media_types.TSV: read_csv,
        media_types.CALENDAR: read_records,
        media_types.CONTACTS: read_records,
        media_types.PDF: read_pdf,
        media_types.DOCX: read_docx,
        media_types.XLSX: read_xlsx,
        media_types.PPTX: read_pptx,
        media_types.ODT: read_odf,
        media_types.ODS: read_odf,
        media_types.ODP: read_odf,
        media_types.EML: read_email,
        media_types.MSG: read_msg,
        media_types.EPUB: read_epub,
        media_types.ZIP: read_zip,
        media_types.XLS: read_xls,
        media_types.RTF: read_rtf,
        media_types.NOTEBOOK: read_other,
        media_types.DOC: read_other,
        media_types.PPT: read_other,
        **dict.fromkeys(media_types.IMAGES, read_image),
    }
)
_TITLED_BY_HEADING = frozenset(
    {media_types.MARKDOWN, media_types.HTML, media_types.DOCX, media_types.ODT, media_types.RTF, media_types.NOTEBOOK}
)
_CLEAN_PAGED = media_types.IMAGES | {media_types.PDF, media_types.PPTX, media_types.ODP}
"""Their readers clean page by page, since cleaning would move the offsets of the pages."""


class MultiFormatParser:
    """Text, Markdown and source code are decoded here; most other kinds need the extra ``parsers``."""

    def __init__(self, *, max_characters: int = MAX_CHARACTERS, recognizes: bool = False) -> None:
        """``recognizes``: scanned pages are recognised once the document is stored: a file of nothing else is taken."""
        self._max_characters = max_characters
        self._recognizes = recognizes

    @property
    def suffixes(self) -> frozenset[str]:
        return frozenset(
            suffix
            for suffix, media_type in media_types.BY_SUFFIX.items()
            if self._recognizes or media_type not in media_types.IMAGES
        )

    def artifact_type(self, filename: str) -> str:
        """Return ``code`` for source code and configuration, else ``document``."""
        return "code" if media_types.is_code(filename) else "document"

    def is_plain(self, filename: str) -> bool:
        return media_types.is_code(filename)

    def media_type(self, filename: str, declared: str | None = None) -> str:
        return media_types.media_type_of(filename, declared)

    def parse(self, file: SourceFile, recognized: Sequence[RecognizedPage] = ()) -> ParsedText:
        """Return the text. Also raises PayloadTooLargeError for more than ``max_characters`` of it."""
        media_type = media_types.type_by_content(self.media_type(file.filename, file.media_type), file.content)
        if media_type.startswith("text/") and len(file.content) > 4 * self._max_characters:
            raise too_large(self._max_characters)
        plain = self.is_plain(file.filename)
        reading = Reading(
            max_characters=self._max_characters,
            recognizes=self._recognizes,
            recognized={page.page: page for page in recognized},
        )
        reader = _READERS[media_type]
        found = _read_code(file) if plain else reader(replace(file, media_type=media_type), reading)
        if len(found.text) > self._max_characters:
            raise too_large(self._max_characters)
        text = found.text if media_type in _CLEAN_PAGED else clean(found.text)
        if not text.strip():
            raise UnreadableDocumentError("The file holds no text.", field="content", remedy="Send a file with text.")
        title = found.title or (first_title(text) if media_type in _TITLED_BY_HEADING else None)
        damaged = unread(UnreadKind.DAMAGED_TEXT, count=text.count("\ufffd"))
        return replace(found, text=text, title=_one_line(title), plain=plain, unread=found.unread + damaged)


def _one_line(title: str | None) -> str | None:
    return " ".join(clean(title or "").split())[:_MAX_TITLE].strip() or None
