"""Every format: the accents, the structure, the title and the pages come out."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError, UnsupportedMediaTypeError
from ragcorp.infrastructure.parsing.media_types import BY_SUFFIX, IMAGES
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from support.parsing import samples

PARSER = MultiFormatParser()
OCTETS = "application/octet-stream"


def parse(filename: str, content: bytes) -> ParsedText:
    parsed = PARSER.parse(SourceFile(content=content, media_type=OCTETS, filename=filename))
    assert unicodedata.is_normalized("NFC", parsed.text)
    assert not set(parsed.text) & set(map(chr, {*range(0x20)} - {0x09, 0x0A}))
    return parsed


def test_markdown_keeps_its_lines() -> None:
    parsed = parse("a.md", "Antes\r\n\r\n# El *título* del `año`\r\n\r\nTexto\r\n".encode())
    assert parsed == ParsedText(text="Antes\n\n# El *título* del `año`\n\nTexto\n", title="El título del año")


def test_markdown_front_matter_names_the_title() -> None:
    assert parse("a.md", b'---\ntitle: "Tarifas"\n---\n\n# Otro\n').title == "Tarifas"


def test_a_heading_in_a_fence_is_no_title() -> None:
    assert parse("a.md", b"```\n# no\n```\n\nTexto\n").title is None


def test_word() -> None:
    parsed = parse("a.docx", samples.docx_file())
    assert parsed.title == "Política de vacaciones"
    assert parsed.text.split("\n\n") == [
        "# Política de vacaciones",
        "# Días por año",
        "González & Hijos, S.L.: si x < 5 y z > 3, véase <b>.",
        "Antigüedad Días",
        "- Primera viñeta",
        "| Categoría | Días |\n| --- | --- |\n| Técnico \\| jefe | 22 |",
        "Después de la tabla.",
    ]


def test_workbook() -> None:
    parsed = parse("a.xlsx", samples.xlsx_file(rows=1))
    assert parsed.text == (
        "## Tarifas 2026\n\n"
        "| Código | Descripción | Precio | Alta |\n"
        "| --- | --- | --- | --- |\n"
        "| A-1 | Instalación & revisión anual | 1200.5 | 2026-03-01 |\n"
        "| A_9* | x < 3 \\| y | 95 | true |"
    )


def test_slides_are_pages_with_their_notes() -> None:
    parsed = parse("a.pptx", samples.pptx_file())
    first, second = (parsed.text[start:end] for start, end in pairwise([*parsed.page_starts, len(parsed.text)]))
    assert first == "## Lección 1\n\nIntroducción < 1\n\nSegundo punto\n\nNota del orador 1\n\n"
    assert second == "## Lección 2\n\nIntroducción < 2\n\nSegundo punto\n\nNota del orador 2"
    assert parsed.title == "Lección 1"


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "windows-1252"])
def test_html(charset: str) -> None:
    parsed = parse("a.html", samples.html_file(charset=charset))
    assert parsed.title == "Guía & rápida"
    assert parsed.text == (
        "# Año nuevo\n\nEl señor **Núñez** & Cía.\n\nlogotipo\n\n"
        "| Código | Explicación |\n| --- | --- |\n| clave_caducada | Renueve la clave |\n\n- uno"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_csv(encoding: str) -> None:
    assert parse("a.csv", samples.csv_file(encoding=encoding)).text == (
        "| código | descripción | precio |\n| --- | --- | --- |\n"
        "| A-1 | Instalación básica | 1200,5 |\n| A-2 | Revisión; anual | 95 |"
    )


def test_mail_prefers_the_plain_body_and_keeps_its_lines() -> None:
    parsed = parse("a.eml", samples.eml_file())
    assert parsed.title == "Avería en Logroño"
    assert parsed.text == (
        "Subject: Avería en Logroño\nFrom: José Peña <jose@empresa.example>\nTo: soporte@empresa.example\n"
        "Date: Mon, 02 Mar 2026 10:00:00 +0100\nAttachments: parte.pdf\n\n"
        "Hola:\n\nLa avería sigue.\n> lo citado\n\nUn saludo\n\n--\nJosé"
    )


def test_mail_with_an_html_body_only() -> None:
    assert parse("a.eml", samples.eml_file(html_only=True)).text.endswith("## Avería\n\nSigue sin **señal**.")


def test_mail_in_latin_1() -> None:
    raw = b"Subject: =?iso-8859-1?Q?A=F1o?=\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\nSe\xf1or"
    assert parse("a.eml", raw).text == "Subject: Año\n\nSeñor"


def test_pdf_reads_as_running_text() -> None:
    parsed = parse("a.pdf", samples.pdf_file())
    assert parsed.title == "Contrato de suministro"
    assert parsed.text.count("ACME Corporación") == 3
    assert parsed.text.startswith("ACME Corporación - Confidencial\n\n## 1.")
    assert parsed.text.endswith("a final de línea.\n\nACME Corporación - Confidencial")
    assert "Página" not in parsed.text
    for number in (1, 2, 3):
        assert f"## {number}. Sección número {number}\n\nApartado {number}. {samples.LONG}\n\n" in parsed.text
    assert parsed.text.count("Texto con palabra cortada a final de línea.") == 3
    assert "| Concepto | Precio | Unidad |\n| --- | --- | --- |\n| Instalación | 1.200,50 | vivienda |\n" in parsed.text
    for number in (1, 2, 3):
        assert bisect_right(parsed.page_starts, parsed.text.index(f"Apartado {number}.")) == number


def test_pdf_without_a_title() -> None:
    assert parse("a.pdf", samples.pdf_file(pages=1, title=None)).title is None


def test_media_types() -> None:
    assert PARSER.suffixes == {suffix for suffix, media_type in BY_SUFFIX.items() if media_type not in IMAGES}
    assert PARSER.media_type("C:\\datos\\INFORME.PDF") == "application/pdf"
    assert PARSER.media_type("sin-sufijo", "text/markdown; charset=utf-8") == "text/markdown"
    for filename, declared in (("secreto.exe", None), ("secreto", "application/octet-stream"), ("", "")):
        with pytest.raises(UnsupportedMediaTypeError) as caught:
            PARSER.media_type(filename, declared)
        assert "secreto" not in str(caught.value)
        assert ".docx" in str(caught.value)


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_plain_text_survives_but_for_controls_and_normal_form(text: str) -> None:
    try:
        parsed = parse("a.txt", text.encode())
    except UnreadableDocumentError:
        return
    assert parsed.text.count("\n") == text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    visible = "".join(filter(str.isalnum, unicodedata.normalize("NFC", text)))
    assert "".join(filter(str.isalnum, parsed.text)) == visible
