"""The text layer of a PDF, as PDFium reads it, and the lines that look like headings."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ragcorp.infrastructure.parsing.kinds.columns import in_columns
from ragcorp.infrastructure.parsing.limits import too_large

_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")
_BOLD = re.compile(rb"bold|black|heavy|demi|medi|cmbx", re.IGNORECASE)
_MOST_HEADING = 120
_LARGER = 1.09
"""How much larger than the text a line is that is a heading for its size alone."""
_MOST_BOLD = 0.3
"""Where more of the text is bold, bold lines are no headings."""
_NAME_BYTES = 200


class _Style(NamedTuple):
    height: float
    bold: bool


@dataclass(slots=True, kw_only=True)
class TextLayer:
    pages: list[str] = field(default_factory=list)
    headings: set[str] = field(default_factory=set)
    title: str | None = None


def text_layer(data: bytes, *, max_characters: int) -> TextLayer:
    """Return the text of each page; a page that PDFium cannot load is empty."""
    import pypdfium2

    layer = TextLayer()
    lines: list[tuple[str, _Style]] = []
    with pypdfium2.PdfDocument(data) as document:
        layer.title = document.get_metadata_value("Title")
        size = 0
        for number in range(len(document)):
            try:
                page = document[number]
                text_page = page.get_textpage()
            except pypdfium2.PdfiumError:
                layer.pages.append("")
                continue
            text = text_page.get_text_range()
            size += len(text)
            if size > max_characters:
                raise too_large(max_characters)
            lines += _lines(text, text_page)
            layer.pages.append(in_columns(page, text_page) or text)
            text_page.close()
            page.close()
    layer.headings = _headings(lines)
    return layer


def _lines(text: str, text_page: Any) -> Iterator[tuple[str, _Style]]:
    """Yield the lines with the height of a letter and whether they are bold from their first letter to their last."""
    for found in _LINE.finditer(text):
        line = found.group().strip()
        first = _style(text_page, text.index(line, found.start()))
        last = first
        if len(line) <= _MOST_HEADING:
            last = _style(text_page, found.start() + len(found.group().rstrip()) - 1)
        yield line, _Style(min(first.height, last.height), first.bold and last.bold)


def _style(text_page: Any, offset: int) -> _Style:
    import pypdfium2.raw

    index = pypdfium2.raw.FPDFText_GetCharIndexFromTextIndex(text_page, offset)
    try:
        _, bottom, _, top = text_page.get_charbox(index, loose=True)
    except pypdfium2.PdfiumError:
        return _Style(0.0, False)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    pypdfium2.raw.FPDFText_GetFontInfo(text_page, index, name, _NAME_BYTES, None)
    return _Style(round(top - bottom, 1), bool(_BOLD.search(name.value)))


def _headings(lines: list[tuple[str, _Style]]) -> set[str]:
    heights = Counter[float]()
    for line, style in lines:
        heights[style.height] += len(line)
    body = heights.most_common(1)[0][0] if heights else 0.0
    total = sum(len(line) for line, _ in lines)
    few_bold = sum(len(line) for line, style in lines if style.bold) <= _MOST_BOLD * total
    return {
        line
        for line, style in lines
        if len(line) <= _MOST_HEADING
        and (style.height > _LARGER * body or (style.bold and few_bold and style.height >= body))
    }
