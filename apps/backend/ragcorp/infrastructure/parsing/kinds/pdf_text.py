"""The text layer of a PDF, as PDFium reads it, and the lines that look like headings."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ragcorp.infrastructure.parsing.kinds.columns import in_columns
from ragcorp.infrastructure.parsing.kinds.pdf_tables import Box, Line, PageTables, is_cut
from ragcorp.infrastructure.parsing.limits import too_large

_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")
_BOLD = re.compile(rb"bold|black|heavy|demi|medi|cmbx", re.IGNORECASE)
_MOST_HEADING = 120
_LARGER = 1.09
"""How much larger than the text a line is that is a heading for its size alone."""
_MOST_BOLD = 0.3
"""Where more of the text is bold, bold lines are no headings."""
_NAME_BYTES = 200
_MOST_BOXES = 3_000
"""On a page with more of them neither columns nor tables are looked for."""


class _Style(NamedTuple):
    height: float
    bold: bool


class _Letter(NamedTuple):
    box: Box
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
    styles: list[tuple[str, _Style]] = []
    tables = PageTables()
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
            lines = list(_lines(text, text_page))
            count = text_page.count_rects()
            boxes = [Box(*text_page.get_rect(index)) for index in range(count if count <= _MOST_BOXES else 0)]
            styles += [
                (line.text, style._replace(bold=style.bold and not is_cut(line, boxes))) for line, style in lines
            ]
            ordered = in_columns(boxes, page, text_page)
            if ordered is None:
                ordered = tables.text([line for line, _ in lines], boxes, page, text_page)
            layer.pages.append(text if ordered is None else ordered)
            text_page.close()
            page.close()
    layer.headings = _headings(styles)
    return layer


def _lines(text: str, text_page: Any) -> Iterator[tuple[Line, _Style]]:
    """Yield the lines with the height of a letter and whether they are bold from their first letter to their last."""
    for found in _LINE.finditer(text):
        line = found.group().strip()
        start = text.index(line, found.start())
        first, last = _letter(text_page, start), _letter(text_page, start + len(line) - 1)
        box = Box(first.box.left, first.box.bottom, last.box.right, first.box.top)
        height = min(first.box.top - first.box.bottom, last.box.top - last.box.bottom)
        yield Line(line, box), _Style(round(height, 1), first.bold and last.bold)


def _letter(text_page: Any, offset: int) -> _Letter:
    import pypdfium2.raw

    index = pypdfium2.raw.FPDFText_GetCharIndexFromTextIndex(text_page, offset)
    try:
        box = Box(*text_page.get_charbox(index, loose=True))
    except pypdfium2.PdfiumError:
        return _Letter(Box(0.0, 0.0, 0.0, 0.0), False)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    pypdfium2.raw.FPDFText_GetFontInfo(text_page, index, name, _NAME_BYTES, None)
    return _Letter(box, bool(_BOLD.search(name.value)))


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
