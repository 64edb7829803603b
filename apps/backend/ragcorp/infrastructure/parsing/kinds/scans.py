"""Pages that are pictures of text: which they are, and their recognised text in place of them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.domain.recognition import RecognizedPage

LITTLE_TEXT = 100
"""Characters of a page that may be a scan with a stamp, a header or a page number over it."""

_FULL = 0.6
"""Share of a page that its picture covers."""


def pictured_pages(data: bytes, numbers: Collection[int]) -> list[int]:
    """Return which pages (from 0) of a PDF a picture covers."""
    if not numbers:
        return []
    import pypdfium2

    found: list[int] = []
    with suppress(pypdfium2.PdfiumError), pypdfium2.PdfDocument(data) as document:
        for number in sorted(numbers):
            page = document[number]
            images = page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=2)
            boxes = [image.get_bounds() for image in images]
            area = sum((right - left) * (top - bottom) for left, bottom, right, top in boxes)
            width, height = page.get_size()
            if area >= _FULL * width * height:
                found.append(number)
            page.close()
    return found


def with_recognized(
    pages: Sequence[str], scanned: Sequence[int], recognized: Mapping[int, RecognizedPage]
) -> tuple[list[str], dict[int, float]]:
    """Return the pages with the text of recognised ones (from 1), and the confidence of these."""
    texts = list(pages)
    confidences: dict[int, float] = {}
    for number in scanned:
        if number in recognized and recognized[number].text.strip():
            texts[number - 1] = recognized[number].text
            confidences[number] = recognized[number].confidence
    return texts, confidences


def name_of(file: SourceFile) -> str:
    """Return the text that stands for a file until its pages are recognised."""
    return file.filename.replace("\\", "/").rpartition("/")[2] or file.media_type


def not_recognized(what: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        f"{what}, and text recognition (OCR) is not set up.",
        field="content",
        remedy="Install it with: pip install 'ragcorp[ocr]', and do not set OCR=off.",
    )
