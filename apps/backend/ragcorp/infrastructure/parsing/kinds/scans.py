"""Pages that are pictures of text: which they are, and their recognised text in place of them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.domain.recognition import RecognizedPage

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

MAX_SCANNED = 500
"""Scanned pages of a document that are recognised: an hour's work. The others stay unread."""

LITTLE_TEXT = 100
"""Characters of a page that may be a scan with a stamp, a header or a page number over it."""

STAMP_TEXT = 2000
"""A page with more characters is no scan with stamps over it."""

_FULL = 0.6
"""Share of a page that its picture covers."""

_WHOLE = 0.9
"""The same, under longer stamps."""

_MARGIN = 1 / 12
"""Share of a page's width or height, at each side."""

_STAMPED = 0.02
"""Share of a page that text between its margins covers, if it is a stamp and no text layer."""


def pictured_pages(data: bytes, letters: Mapping[int, int]) -> list[int]:
    """Return which pages (from 0) of a PDF are pictures with at most stamps over them, given their characters."""
    if not letters:
        return []
    import pypdfium2

    found: list[int] = []
    with suppress(pypdfium2.PdfiumError), pypdfium2.PdfDocument(data) as document:
        for number, count in sorted(letters.items()):
            page = document[number]
            images = page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=2)
            width, height = page.get_size()
            share = sum(_area(image.get_bounds()) for image in images) / (width * height)
            if share >= (_FULL if count <= LITTLE_TEXT else _WHOLE) and (
                count <= LITTLE_TEXT or _text_share(page) <= _STAMPED
            ):
                found.append(number)
            page.close()
    return found


def _text_share(page: "PdfPage") -> float:
    """Return the share of a page that text between its margins covers."""
    left, bottom, right, top = page.get_bbox()
    across, up = _MARGIN * (right - left), _MARGIN * (top - bottom)
    text = page.get_textpage()
    boxes = [text.get_rect(index) for index in range(text.count_rects())]
    body = (
        box
        for box in boxes
        if left + across < (box[0] + box[2]) / 2 < right - across and bottom + up < (box[1] + box[3]) / 2 < top - up
    )
    return sum(map(_area, body)) / _area((left, bottom, right, top))


def _area(box: tuple[float, float, float, float]) -> float:
    left, bottom, right, top = box
    return (right - left) * (top - bottom)


def with_recognized(
    pages: Sequence[str], scanned: Sequence[int], recognized: Mapping[int, RecognizedPage]
) -> tuple[list[str], dict[int, float]]:
    """Return the pages with the text of recognised ones (from 1), and the confidence of these.

    Lines over a picture that the recognised text lacks follow it.
    """
    texts = list(pages)
    confidences: dict[int, float] = {}
    for number in scanned:
        if number in recognized and recognized[number].text.strip():
            text = recognized[number].text
            read = _compact(text)
            stamps = [line for line in texts[number - 1].splitlines() if _compact(line) not in read]
            texts[number - 1] = "\n\n".join([text, "\n".join(stamps)] if stamps else [text])
            confidences[number] = recognized[number].confidence
    return texts, confidences


def _compact(text: str) -> str:
    return "".join(text.split()).casefold()


def name_of(file: SourceFile) -> str:
    """Return the text that stands for a file until its pages are recognised."""
    return file.filename.replace("\\", "/").rpartition("/")[2] or file.media_type


def not_recognized(what: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        f"{what}, and text recognition (OCR) is not set up.",
        field="content",
        remedy="Install it with: pip install 'ragcorp[ocr]', and do not set OCR=off.",
        reason="no_recognition",
    )
