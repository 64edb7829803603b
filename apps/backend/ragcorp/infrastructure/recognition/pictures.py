"""Pictures of pages: of PDFs as they are shown, of images frame by frame."""

import io

from PIL import Image, ImageOps
from pypdfium2 import PdfDocument

from ragcorp.domain.documents import SourceFile

_DOTS_PER_INCH = 200
_MOST_SIDE = 3000
"""Pixels: a page of A4 has 2339 at 200 dots per inch."""

_CELL = 8
"""Pixels a side: the grain of a scan vanishes in their mean."""
_FAINT = 24
"""Levels of grey between paper and print."""
_MARGIN = 40

PDF = "application/pdf"


def picture(file: SourceFile, page: int) -> Image.Image:
    """Return page ``page`` (from 1) without its margins, in RGB on white, upright as the file says, of bounded size."""
    image = _pdf_page(file.content, page) if file.media_type == PDF else _frame(file.content, page)
    image.thumbnail((_MOST_SIDE, _MOST_SIDE), Image.Resampling.LANCZOS)
    return _printed(image)


def _pdf_page(data: bytes, page: int) -> Image.Image:
    with PdfDocument(data) as document:
        document.init_forms()
        shown = document[page - 1]
        scale = min(_DOTS_PER_INCH / 72, _MOST_SIDE / max(shown.get_size()))
        rendered: Image.Image = shown.render(scale=scale).to_pil()
        return rendered.convert("RGB")


def _frame(data: bytes, page: int) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        image.seek(page - 1)
        image.draft("RGB", (_MOST_SIDE, _MOST_SIDE))
        frame = ImageOps.exif_transpose(image)
        if "A" in frame.getbands() or "transparency" in frame.info:
            layer = frame.convert("RGBA")
            frame = Image.new("RGB", frame.size, "white")
            frame.paste(layer, mask=layer.getchannel("A"))
        if frame.mode.startswith("I"):  # 16 bits: converting cuts them off
            frame = frame.convert("F").point(lambda value: value / 257)
        return frame.convert("RGB")


def _printed(image: Image.Image) -> Image.Image:
    """Return the part with print on it: the engine overlooks a lone line on a large white page."""
    cells = ImageOps.invert(image.convert("L")).reduce(_CELL)
    paper = next(level for level, count in enumerate(cells.histogram()) if count)
    box = cells.point([255 * (level > paper + _FAINT) for level in range(256)]).getbbox()
    if box is None:
        return image
    left, top, right, bottom = (side * _CELL for side in box)
    return image.crop(
        (
            max(0, left - _MARGIN),
            max(0, top - _MARGIN),
            min(image.width, right + _MARGIN),
            min(image.height, bottom + _MARGIN),
        )
    )
