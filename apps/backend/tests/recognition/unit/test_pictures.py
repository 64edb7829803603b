"""Pictures of pages: upright, on white, of bounded size."""

from __future__ import annotations

import io

from PIL import Image

from ragcorp.domain.documents import SourceFile
from ragcorp.infrastructure.recognition.pictures import picture
from support.recognition.scans import image_file, pdf_of


def shown(image: Image.Image, kind: str, page: int = 1) -> Image.Image:
    return picture(
        SourceFile(content=image_file(image, kind=kind), media_type=f"image/{kind.lower()}", filename=""), page
    )


def test_a_transparent_picture_is_on_white() -> None:
    assert shown(Image.new("RGBA", (40, 30), (0, 0, 0, 0)), "PNG").getpixel((5, 5)) == (255, 255, 255)


def test_sixteen_bits_become_eight() -> None:
    grey = Image.new("I;16", (40, 30), 32_896)
    red, green, blue = shown(grey, "TIFF").getpixel((5, 5))  # type: ignore[misc]
    assert red == green == blue
    assert 126 <= red <= 130


def test_a_photograph_is_turned_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    Image.new("L", (40, 30), 255).save(file, "JPEG", exif=exif)
    assert picture(SourceFile(content=file.getvalue(), media_type="image/jpeg", filename=""), 1).size == (30, 40)


def test_pages_are_drawn_without_their_margins_and_of_a_bounded_size() -> None:
    content = pdf_of("El plazo es de tres semanas.")
    page = picture(SourceFile(content=content, media_type="application/pdf", filename=""), 1)
    assert 400 < page.width < 600
    assert page.height < 200
    assert shown(Image.new("L", (6000, 300), 255), "PNG").size == (3000, 150)
