"""What cannot be read is refused with a remedy, and never with what the file holds."""

from __future__ import annotations

import io
import random
import sys
import types
import zipfile
from collections.abc import Callable

import pytest

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.domain.exceptions import MissingExtraError, PayloadTooLargeError, UnreadableDocumentError
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from support.parsing import samples

RICH: dict[str, Callable[[], bytes]] = {
    "secreto.pdf": samples.pdf_file,
    "secreto.docx": samples.docx_file,
    "secreto.xlsx": samples.xlsx_file,
    "secreto.pptx": samples.pptx_file,
}


def parse(filename: str, content: bytes, *, max_characters: int = 20_000_000) -> ParsedText:
    source = SourceFile(content=content, media_type="application/octet-stream", filename=filename)
    return MultiFormatParser(max_characters=max_characters).parse(source)


def refusal(filename: str, content: bytes) -> str:
    with pytest.raises(UnreadableDocumentError) as caught:
        parse(filename, content)
    assert caught.value.remedy
    assert "secreto" not in str(caught.value)
    assert "/" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("filename", RICH)
def test_truncated(filename: str) -> None:
    whole = RICH[filename]()
    for share in (0.0, 0.1, 0.5, 0.9):
        assert "damaged" in refusal(filename, whole[: int(len(whole) * share)])


@pytest.mark.parametrize("filename", [*RICH, "secreto.html", "secreto.csv", "secreto.txt", "secreto.md", "secreto.eml"])
def test_random_bytes(filename: str) -> None:
    for seed in range(5):
        refusal(filename, random.Random(seed).randbytes(4_000))


@pytest.mark.parametrize("filename", RICH)
def test_flipped_bytes_never_crash(filename: str) -> None:
    whole = RICH[filename]()
    for seed in range(8 if filename.endswith("pdf") else 40):
        chance = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 5, 50))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            parse(filename, bytes(damaged))
        except (UnreadableDocumentError, PayloadTooLargeError):
            continue


@pytest.mark.parametrize("filename", RICH)
def test_a_file_of_another_kind(filename: str) -> None:
    other = b"\x89PNG\r\n\x1a\n" if filename.endswith("docx") else samples.docx_file()
    assert "another kind" in refusal(filename, other)


def test_scanned_pdf() -> None:
    assert "no text layer" in refusal("secreto.pdf", samples.scanned_pdf())
    assert "ragcorp[ocr]" in refusal("secreto.pdf", samples.scanned_pdf())


def test_encrypted_pdf() -> None:
    assert "password" in refusal("secreto.pdf", samples.pdf_file(pages=1, password="clave"))


@pytest.mark.parametrize("filename", ["secreto.docx", "secreto.xlsx", "secreto.pptx"])
def test_encrypted_or_old_office(filename: str) -> None:
    assert "password" in refusal(filename, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))


@pytest.mark.parametrize(
    ("filename", "content"),
    [
        ("a.txt", b""),
        ("a.md", " \n\t\u200b\ufeff\u00a0\n".encode()),
        ("a.html", b"<html><head><title>T</title></head><body><p> </p></body></html>"),
        ("a.csv", b""),
        ("a.eml", b"Subject: hola\r\n\r\n"),
    ],
)
def test_no_text(filename: str, content: bytes) -> None:
    assert "no text" in refusal(filename, content)


def test_no_text_in_a_word_file() -> None:
    assert "no text" in refusal("a.docx", samples.blank_docx_file())


def test_limit_on_the_text() -> None:
    with pytest.raises(PayloadTooLargeError) as caught:
        parse("a.txt", b"x" * 101, max_characters=100)
    assert caught.value.limit == "100"
    assert parse("a.txt", b"x" * 100, max_characters=100).text == "x" * 100
    for filename, content in (("a.pdf", samples.pdf_file()), ("a.xlsx", samples.xlsx_file()), ("a.txt", b"x" * 999)):
        with pytest.raises(PayloadTooLargeError):
            parse(filename, content, max_characters=100)


@pytest.mark.parametrize("filename", ["a.docx", "a.xlsx", "a.pptx"])
def test_zip_bomb(filename: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(30_000_000))
    assert len(buffer.getvalue()) < 100_000
    with pytest.raises(PayloadTooLargeError):
        parse(filename, buffer.getvalue(), max_characters=1_000_000)


def test_zip_that_lies_about_its_size() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(5_000_000))
    honest = buffer.getvalue()
    lying = honest.replace((5_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little"))
    assert lying != honest
    assert "damaged" in refusal("secreto.docx", lying)


def test_workbook_whose_cells_share_one_long_string() -> None:
    sheet = "".join(f'<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>' for row in range(1, 2_001))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bomb:
        bomb.writestr("xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{sheet}</sheetData></worksheet>")
        bomb.writestr("xl/sharedStrings.xml", f"<sst><si><t>{'x' * 30_000}</t></si></sst>")
    assert len(buffer.getvalue()) < 200_000
    with pytest.raises(PayloadTooLargeError):
        parse("a.xlsx", buffer.getvalue())


@pytest.mark.parametrize("filename", ["a.pdf", "a.docx", "a.xlsx", "a.html", "a.rtf"])
def test_missing_extra(filename: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = RICH["secreto" + filename[1:]]() if "secreto" + filename[1:] in RICH else b"<p>a;b</p>"
    monkeypatch.setitem(sys.modules, "kreuzberg", None)
    monkeypatch.setitem(sys.modules, "mammoth", None)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(MissingExtraError) as caught:
        parse(filename, content)
    assert caught.value.field == "parsers"


@pytest.mark.parametrize("filename", ["a.md", "a.txt", "a.log", "a.eml", "a.tsv", "a.csv"])
def test_plain_kinds_need_no_extra(filename: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kreuzberg", None)
    assert "hola" in parse(filename, b"X: y\n\nhola").text


def test_slides_need_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kreuzberg", None)
    assert "Segundo punto" in parse("a.pptx", samples.pptx_file()).text


def test_a_panic_is_an_unreadable_document(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """Like pyo3's, no Exception."""

    def extract_bytes_sync(*_: object, **__: object) -> None:
        raise PanicException("el contenido secreto de /home/usuario")

    fake = types.SimpleNamespace(ExtractionConfig=dict, extract_bytes_sync=extract_bytes_sync)
    monkeypatch.setitem(sys.modules, "kreuzberg", fake)  # type: ignore[arg-type]
    assert "damaged" in refusal("secreto.rtf", b"{}")


def test_a_pdf_with_a_broken_date_is_read() -> None:
    good = samples.pdf_file(pages=1)
    date = good.index(b"/CreationDate")
    start = good.index(b"(", date) + 1
    bad = good[: start + 14] + "ñ".encode("latin-1") + good[start + 15 :]
    assert samples.SHORT in parse("a.pdf", bad).text
