"""The parser of all supported file kinds."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.converters import (
    read_csv,
    read_docx,
    read_email,
    read_html,
    read_pdf,
    read_pptx,
    read_xlsx,
)
from ragcorp.infrastructure.parsing.decoding import clean, text_of
from ragcorp.infrastructure.parsing.limits import too_large
from ragcorp.infrastructure.parsing.outline import first_title

MAX_CHARACTERS = 20_000_000
_MAX_TITLE = 300


def _read_text(file: SourceFile) -> ParsedText:
    return ParsedText(text=text_of(file))


def _read_code(file: SourceFile) -> ParsedText:
    """Return the text with the lines that a search in the file counts: a lone carriage return ends none."""
    text = text_of(file).replace("\r\n", "\n").replace("\r", " ")
    return ParsedText(text=text, title=PurePosixPath(file.filename.replace("\\", "/")).name, plain=True)


_TEXT_READERS: Mapping[str, Callable[[SourceFile], ParsedText]] = MappingProxyType(
    {
        media_types.MARKDOWN: _read_text,
        media_types.PLAIN: _read_text,
        media_types.HTML: read_html,
        media_types.CSV: read_csv,
    }
)
_READERS: Mapping[str, Callable[[bytes, int], ParsedText]] = MappingProxyType(
    {media_types.DOCX: read_docx, media_types.XLSX: read_xlsx, media_types.PPTX: read_pptx, media_types.EML: read_email}
)
_TITLED_BY_HEADING = frozenset({media_types.MARKDOWN, media_types.HTML, media_types.DOCX})
_CLEAN_PAGED = frozenset({media_types.PDF, media_types.PPTX})
"""Their readers clean page by page, since cleaning would move the offsets of the pages."""


class MultiFormatParser:
    """Text, Markdown and source code are decoded here; other kinds need the extra ``parsers`` (kreuzberg, mammoth).

    Without ``properties`` those of a PDF are not read: their dates are a cause of panics in kreuzberg 4.10.
    """

    def __init__(self, *, max_characters: int = MAX_CHARACTERS, properties: bool = True) -> None:
        self._max_characters = max_characters
        self._properties = properties

    @property
    def suffixes(self) -> frozenset[str]:
        return frozenset(media_types.BY_SUFFIX)

    def artifact_type(self, filename: str) -> str:
        """Return ``code`` for source code and configuration, else ``document``."""
        return "code" if media_types.is_code(filename) else "document"

    def is_plain(self, filename: str) -> bool:
        return media_types.is_code(filename)

    def media_type(self, filename: str, declared: str | None = None) -> str:
        return media_types.media_type_of(filename, declared)

    def parse(self, file: SourceFile) -> ParsedText:
        """Return the text. Also raises PayloadTooLargeError for more than ``max_characters`` of it."""
        media_type = self.media_type(file.filename, file.media_type)
        if media_type.startswith("text/") and len(file.content) > 4 * self._max_characters:
            raise too_large(self._max_characters)
        plain = self.is_plain(file.filename)
        if plain:
            found = _read_code(file)
        elif media_type in _TEXT_READERS:
            found = _TEXT_READERS[media_type](file)
        elif media_type == media_types.PDF:
            found = read_pdf(file.content, self._max_characters, properties=self._properties)
        else:
            found = _READERS[media_type](file.content, self._max_characters)
        if len(found.text) > self._max_characters:
            raise too_large(self._max_characters)
        text = found.text if media_type in _CLEAN_PAGED else clean(found.text)
        if not text.strip():
            raise UnreadableDocumentError("The file holds no text.", field="content", remedy="Send a file with text.")
        title = found.title or (first_title(text) if media_type in _TITLED_BY_HEADING else None)
        return ParsedText(text=text, title=_one_line(title), page_starts=found.page_starts, plain=plain)


def _one_line(title: str | None) -> str | None:
    return " ".join(clean(title or "").split())[:_MAX_TITLE].strip() or None
