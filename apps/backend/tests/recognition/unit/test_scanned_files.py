"""Scanned pages in files: which they are, and their recognised text in its place."""

from __future__ import annotations

import pytest
from fpdf import FPDF
from PIL import Image

from ragcorp.application.documents.reading import DocumentReader
from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind, UnreadPart
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.kinds import image, pdf
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from support.recognition.scans import Scanner, image_file, pdf_of

SCAN = Scanner(dpi=72).scan("Resolución")
TEXT = "El importe solicitado es de 61.900 euros, con cargo al programa de desarrollo rural de este año, según consta."

SIGNATURE = (
    "Firmado digitalmente por MARIA LOPEZ GARCIA el 12/03/2026. CSV: ABCD-1234-EFGH-5678. "
    "Verificable en https://sede.ejemplo.es/verifica con este codigo."
)


def scan_under(text: str, *, place: tuple[float, float], size: float, mode: str = "FILL", layer: str = "") -> bytes:
    """Return a PDF of a scan with text over it at a place in millimetres, and with an invisible layer."""
    file = FPDF()
    file.set_auto_page_break(False)
    file.add_page()
    file.image(SCAN, x=0, y=0, w=file.w, h=file.h)
    for words, (x, y), points, shown in ((layer, (20.0, 60.0), 12, "INVISIBLE"), (text, place, size, mode)):
        with file.local_context(text_mode=shown):
            file.set_font("helvetica", size=points)
            file.set_xy(x, y)
            file.multi_cell(140, points * 0.5, words)
    return bytes(file.output())


def read(filename: str, content: bytes, recognized: dict[int, str] | None = None, *, on: bool = True) -> ParsedText:
    pages = tuple(RecognizedPage(page=page, text=text, confidence=0.9) for page, text in (recognized or {}).items())
    file = SourceFile(content=content, media_type="", filename=filename)
    return MultiFormatParser(recognizes=on).parse(file, pages)


def unread(*pages: str) -> tuple[UnreadPart, ...]:
    return (UnreadPart(kind=UnreadKind.PAGE, count=len(pages), places=pages),)


def test_a_recognised_page_is_in_its_place_and_no_longer_unread() -> None:
    content = pdf_of(TEXT, SCAN, TEXT.replace("61.900", "72.100"), SCAN)
    parsed = read("a.pdf", content)
    assert (parsed.scanned, parsed.recognized, parsed.unread) == ((2, 4), {}, unread("2", "4"))
    parsed = read("a.pdf", content, {2: "Se concede una ayuda de 47.250 euros.", 4: " "})
    assert (parsed.scanned, parsed.recognized, parsed.unread) == ((2, 4), {2: 0.9}, unread("4"))
    second = parsed.text[parsed.page_starts[1] : parsed.page_starts[2]]
    assert second.strip() == "Se concede una ayuda de 47.250 euros."
    assert (
        parsed.text.index("61.900")
        < parsed.page_starts[1]
        < parsed.page_starts[2]
        <= parsed.text.index("El importe solicitado es de 72.100")
    )


def test_a_scan_under_a_stamp_is_scanned_and_a_figure_is_not() -> None:
    stamped = pdf_of(TEXT, (SCAN, "Registro de entrada 1442"))
    assert read("a.pdf", stamped).scanned == (2,)
    assert "Registro" in read("a.pdf", stamped).text
    assert "Resolución" in read("a.pdf", stamped, {2: "Resolución\nRegistro de entrada 1442"}).text


@pytest.mark.parametrize("place", [(10, 285), (10, 4), (60, 60)], ids=["foot", "head", "page"])
def test_a_scan_under_a_long_signature_is_scanned_and_the_signature_kept(place: tuple[float, float]) -> None:
    content = scan_under(SIGNATURE, place=place, size=6)
    assert (read("a.pdf", content).scanned, read("a.pdf", content).unread) == ((1,), unread("1"))
    parsed = read("a.pdf", content, {1: "Se concede una ayuda de 47.250 euros."})
    assert parsed.text.startswith("Se concede una ayuda de 47.250 euros.")
    assert "ABCD-1234-EFGH-5678" in parsed.text
    parsed = read("a.pdf", content, {1: f"Se concede una ayuda.\n{SIGNATURE}"})
    assert parsed.text.count("ABCD-1234-EFGH-5678") == 1


def test_a_scan_with_a_text_layer_is_text_even_under_a_signature() -> None:
    layer = scan_under(TEXT * 3, place=(20, 60), size=12, mode="INVISIBLE")
    assert read("a.pdf", layer).scanned == ()
    assert read("a.pdf", scan_under(SIGNATURE, place=(10, 285), size=6, layer=TEXT * 3)).scanned == ()


def test_no_passage_mixes_recognised_text_with_other() -> None:
    file = SourceFile(content=pdf_of(TEXT, SCAN, TEXT), media_type="", filename="a.pdf")
    reader = DocumentReader(parser=MultiFormatParser(recognizes=True), chunker=StructureChunker())
    page = RecognizedPage(page=2, text="Se concede una ayuda.", confidence=0.75)
    chunks = reader.digest(file, "a.pdf", (page,)).chunks
    assert [(chunk.page_start, chunk.page_end, chunk.recognition_confidence) for chunk in chunks] == [
        (1, 1, None),
        (2, 2, 0.75),
        (3, 3, None),
    ]


@pytest.mark.parametrize("filename", ["actas/Acta 3.png", "Acta 3.JPG", "Acta 3.tif", "Acta 3.webp", "Acta 3.bmp"])
def test_an_image_stands_under_its_name_until_it_is_read(filename: str) -> None:
    kind = {"png": "PNG", "jpg": "JPEG", "tif": "TIFF", "ebp": "WEBP", "bmp": "BMP"}[filename.lower()[-3:]]
    content = image_file(SCAN, kind=kind)
    parsed = read(filename, content)
    assert (parsed.text, parsed.scanned, parsed.unread) == (filename.removeprefix("actas/"), (1,), unread("1"))
    parsed = read(filename, content, {1: "Asistentes: Íñigo\ny Begoña."})
    assert (parsed.text, parsed.page_starts, parsed.unread) == ("Asistentes: Íñigo y Begoña.", (0,), ())


def test_a_tiff_may_have_several_pages() -> None:
    content = image_file(SCAN, SCAN, SCAN, kind="TIFF")
    assert read("a.tiff", content).unread == unread("1", "2", "3")
    parsed = read("a.tiff", content, {1: "Primera.", 3: "Tercera."})
    assert (parsed.text, parsed.unread) == ("Primera.\n\nTercera.", unread("2"))
    assert [parsed.text[start:] for start in parsed.page_starts] == ["Primera.\n\nTercera.", "\n\nTercera.", "Tercera."]


@pytest.mark.parametrize(
    ("filename", "content"), [("a.png", image_file(SCAN)), ("a.pdf", pdf_of(SCAN, SCAN))], ids=["image", "scan"]
)
def test_without_recognition_the_refusal_names_the_extra(filename: str, content: bytes) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(filename, content, on=False)
    assert "ragcorp[ocr]" in str(caught.value.remedy)
    assert read(filename, content).text == filename


def test_blank_pages_are_no_scans() -> None:
    with pytest.raises(UnreadableDocumentError, match="no text"):
        read("a.pdf", pdf_of(" ", " "))


def test_a_damaged_image_is_refused() -> None:
    with pytest.raises(UnreadableDocumentError, match="damaged"):
        read("a.png", image_file(SCAN)[:200])


def test_an_image_that_is_too_large_is_refused_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100_000)
    with pytest.raises(UnreadableDocumentError, match="million pixels") as caught:
        read("a.png", image_file(SCAN))
    assert "damaged" not in str(caught.value)


def test_of_a_long_scan_the_first_pages_wait_and_the_others_stay_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (image, pdf):
        monkeypatch.setattr(kind, "MAX_SCANNED", 2)
    for name, content in (("a.pdf", pdf_of(SCAN, SCAN, SCAN)), ("a.tiff", image_file(SCAN, SCAN, SCAN, kind="TIFF"))):
        assert read(name, content).scanned == (1, 2)
        assert read(name, content, {1: "Una.", 2: "Dos."}).unread == unread("3")


def test_images_are_taken_from_folders_only_if_they_can_be_read() -> None:
    assert {".png", ".pdf"} <= MultiFormatParser(recognizes=True).suffixes
    assert ".png" not in MultiFormatParser().suffixes
