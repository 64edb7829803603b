"""PDF: pages without text, form fields, annotations, attached files and titles."""

from __future__ import annotations

import io
import textwrap
from typing import Any

import pypdf
import pytest
from fpdf import FPDF
from PIL import Image
from pypdf.annotations import Text
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NumberObject, TextStringObject

from ragcorp.domain.documents import UnreadKind
from support.parsing.kinds import parse, parts_of


def pdf_of(*pages: str | None, title: str = "") -> bytes:
    """Pages with a text, an image (None) or nothing ("")."""
    pdf = FPDF()
    pdf.set_font("helvetica", size=11)
    pdf.set_title(title)
    for page in pages:
        pdf.add_page()
        if page is None:
            pdf.image(Image.new("RGB", (50, 50), "red"))
        elif page:
            pdf.multi_cell(0, 6, page)
    return bytes(pdf.output())


def with_fields(content: bytes, fields: list[dict[str, Any]]) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(content))
    widgets = ArrayObject()
    for entries in fields:
        values = {
            NameObject(key): value
            if not isinstance(value, str)
            else NameObject(value)
            if value.startswith("/")
            else TextStringObject(value)
            for key, value in entries.items()
        }
        widget = DictionaryObject({NameObject("/Subtype"): NameObject("/Widget"), **values})
        widgets.append(writer._add_object(widget))
    writer.pages[0][NameObject("/Annots")] = widgets
    writer.root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): widgets})
    return written(writer)


def written(writer: pypdf.PdfWriter) -> bytes:
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def test_pages_without_text_are_named() -> None:
    parsed = parse("a.pdf", pdf_of("Página uno.", None, "Página tres.", None, ""))
    assert parts_of(parsed) == {(UnreadKind.PAGE, 2, ("2", "4"))}
    assert len(parsed.page_starts) == 5


def test_form_fields() -> None:
    fields = [
        {"/FT": "/Tx", "/T": "nombre", "/V": "Titular comadreja"},
        {"/FT": "/Ch", "/T": "plan", "/TU": "Plan elegido", "/V": "Plan nutria"},
        {"/FT": "/Btn", "/T": "socio", "/V": "/Sí", "/AS": "/Sí"},
        {"/FT": "/Btn", "/T": "baja", "/V": "/Off", "/AS": "/Off"},
        {"/FT": "/Tx", "/T": "vacío", "/V": ""},
    ]
    parsed = parse("a.pdf", with_fields(pdf_of("Solicitud"), fields))
    assert parsed.text == "Solicitud\n- nombre: Titular comadreja\n- Plan elegido: Plan nutria\n- socio: sí"
    assert parts_of(parsed) == set()


def test_fields_show_what_a_reader_sees() -> None:
    provinces = ArrayObject(ArrayObject(map(TextStringObject, pair)) for pair in (("28", "Madrid"), ("08", "Lugo")))
    rates = ArrayObject(map(TextStringObject, ("Reducida", "Normal")))
    fields: list[dict[str, Any]] = [
        {"/FT": "/Ch", "/T": "provincia", "/V": "28", "/Opt": provinces},
        {"/FT": "/Btn", "/T": "tarifa", "/V": "/1", "/AS": "/1", "/Opt": rates},
        {"/FT": "/Tx", "/T": "clave", "/V": "secreto", "/Ff": NumberObject(8192)},
        {"/FT": "/Tx", "/T": "interno", "/V": "oculto", "/F": NumberObject(2)},
    ]
    assert parse("a.pdf", with_fields(pdf_of("Alta"), fields)).text == "Alta\n- provincia: Madrid\n- tarifa: Normal"


def test_a_value_follows_the_label_that_is_printed_beside_its_field() -> None:
    pdf = FPDF(unit="pt")
    pdf.set_font("helvetica", size=11)
    pdf.add_page()
    labels = ((60, 100, "Nombre:"), (300, 100, "Edad:"), (60, 150, "Domicilio"), (80, 200, "Acepto las condiciones"))
    for x, y, text in labels:
        pdf.text(x, y, text)
    height = pdf.h

    def box(left: float, top: float, right: float) -> ArrayObject:
        return ArrayObject(map(FloatObject, (left, height - top - 5, right, height - top + 10)))

    fields: list[dict[str, Any]] = [
        {"/FT": "/Tx", "/T": "Text1", "/V": "Rigoberta Samper", "/Rect": box(110, 100, 290)},
        {"/FT": "/Tx", "/T": "Text2", "/V": "54", "/Rect": box(335, 100, 380)},
        {"/FT": "/Tx", "/T": "Text3", "/V": "Calle Mayor, 4", "/Rect": box(60, 168, 290)},
        {"/FT": "/Btn", "/T": "Check1", "/V": "/Yes", "/AS": "/Yes", "/Rect": box(60, 200, 75)},
        {"/FT": "/Tx", "/T": "Text4", "/V": "sin etiqueta", "/Rect": box(400, 500, 500)},
    ]
    lines = parse("a.pdf", with_fields(bytes(pdf.output()), fields)).text.split("\n")
    text = " ".join(lines)
    assert "Nombre: Rigoberta Samper" in text
    assert "Edad: 54" in text
    assert "Domicilio Calle Mayor, 4" in text
    assert lines[-2:] == ["- Acepto las condiciones: sí", "- Text4: sin etiqueta"]


def test_a_scan_with_a_comment_has_no_text_all_the_same() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf_of("Portada", None)))
    writer.add_annotation(1, Text(rect=(50, 50, 90, 90), text="Falta la firma"))
    parsed = parse("a.pdf", written(writer))
    assert "Falta la firma" in parsed.text
    assert parts_of(parsed) == {(UnreadKind.PAGE, 1, ("2",))}


def test_comments_and_attached_files() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf_of("Contrato", "Anexo")))
    note = Text(rect=(50, 50, 90, 90), text="Falta la firma")
    note[NameObject("/T")] = TextStringObject("Herminia")
    writer.add_annotation(1, note)
    writer.add_attachment("datos.csv", b"a;b\n1;2")
    writer.add_attachment("cosa.bin", b"\0\0")
    parsed = parse("a.pdf", written(writer))
    assert parsed.text[parsed.page_starts[1] :] == "Anexo\n- Comentario de Herminia: Falta la firma"
    assert [(part.filename, part.content) for part in parsed.parts] == [("datos.csv", b"a;b\n1;2")]
    assert parts_of(parsed) == {(UnreadKind.ATTACHMENT, 1, ("cosa.bin",))}


def test_annotations_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(pypdf, "PdfReader", broken)
    parsed = parse("a.pdf", with_fields(pdf_of("Solicitud"), [{"/FT": "/Tx", "/T": "n", "/V": "x"}]))
    assert parts_of(parsed) == {(UnreadKind.ANNOTATION, 1, ())}


@pytest.mark.parametrize("title", ["(anonymous)", "untitled", "Documento", "Microsoft Word - carta.doc"])
def test_titles_that_programs_make_up(title: str) -> None:
    assert parse("a.pdf", pdf_of("Texto", title=title)).title is None


@pytest.mark.parametrize("title", ["Presupuesto 1.2026", "Ley 7.12"])
def test_titles_that_end_with_a_number(title: str) -> None:
    assert parse("a.pdf", pdf_of("Texto", title=title)).title == title


# the text layer


def test_values_on_neighbouring_lines_are_not_joined() -> None:
    pdf = FPDF()
    pdf.set_font("helvetica", size=10)
    pdf.add_page()
    for number, line in enumerate(["400.01", "3", "600.01", "5", "0085648100380", "0085648100303"]):
        pdf.text(20, 30 + 5 * number, line)
    assert parse("a.pdf", bytes(pdf.output())).text.split() == [
        "400.01", "3", "600.01", "5", "0085648100380", "0085648100303"
    ]  # fmt: skip


def test_headings_are_larger_or_bold() -> None:
    pdf = FPDF()
    pdf.add_page()
    for size, style, line in (
        (16, "", "Contrato de obra"),
        (10, "B", "Primera. Objeto"),
        (10, "", "El contratista levanta una nave de tres plantas en la parcela del municipio de Logroño."),
        (10, "", "Segunda línea del texto que sigue con más detalles de la misma nave y de su cubierta."),
    ):
        pdf.set_font("helvetica", style, size)
        pdf.cell(0, 8, line, new_x="LMARGIN", new_y="NEXT")
    text = parse("a.pdf", bytes(pdf.output())).text
    assert [line for line in text.split("\n") if line.startswith("#")] == ["## Contrato de obra", "## Primera. Objeto"]


def test_text_beyond_the_edge_of_the_page_is_read() -> None:
    pdf = FPDF()
    pdf.set_font("helvetica", size=10)
    pdf.add_page()
    pdf.text(190, 30, "importe de la comadreja 340")
    assert "comadreja 340" in parse("a.pdf", bytes(pdf.output())).text


# two columns


def lines_of(rows: list[tuple[str, str]], *, right: float = 110) -> bytes:
    """Rows that are drawn line by line, left and right, below a title."""
    pdf = FPDF()
    pdf.set_font("helvetica", size=10)
    pdf.add_page()
    pdf.cell(0, 6, "Boletín de la cooperativa con un título que va de lado a lado de la página entera y sigue aún más")
    for number, (before, after) in enumerate(rows):
        pdf.text(12, 30 + 6 * number, before)
        pdf.text(right, 30 + 6 * number, after)
    return bytes(pdf.output())


def test_two_columns_are_read_one_after_the_other() -> None:
    rows = [(f"Izquierda {number} de la nutria", f"Derecha {number} de la comadreja") for number in range(30)]
    text = parse("a.pdf", lines_of(rows)).text
    places = [text.index("Boletín"), *(text.index(f"Izquierda {n} ") for n in range(30))]
    places += [text.index(f"Derecha {n} ") for n in range(30)]
    assert places == sorted(places)
    assert text.count("nutria") == text.count("comadreja") == 30


def test_a_table_keeps_its_rows() -> None:
    rows = [(f"Concepto {number}", f"{number * 13},50 EUR") for number in range(30)]
    text = parse("a.pdf", lines_of(rows)).text
    assert "Concepto 3 39,50 EUR" in text
    people = [(f"Persona número {number}", f"Cargo número {number}") for number in range(20)]
    assert "Persona número 3 Cargo número 3" in parse("a.pdf", lines_of(people)).text


PROSE = (
    "La asamblea aprueba las cuentas del año pasado y reparte el excedente entre los socios que llevan más de un año "
    "en la cooperativa. Quien no haya pagado su cuota pierde el derecho de voto hasta que la pague, salvo acuerdo de "
    "la junta. El agua de riego se reparte por turnos de doce horas, que empiezan el lunes a las ocho de la mañana. "
)


def test_running_text_in_two_columns() -> None:
    left, right = (textwrap.wrap(text * 2, 45)[:16] for text in (PROSE, PROSE[180:] + PROSE[:180]))
    text = parse("a.pdf", lines_of(list(zip(left, right, strict=True)))).text
    assert "La asamblea aprueba las cuentas del año pasado y reparte el excedente entre los socios" in " ".join(
        text.split()
    )


NAMES = ("Ana García López", "Luis Peña", "Eva Martín Díaz", "Juan Pérez Soto", "Rosa Gil", "Pedro Sanz Vega")
OFFICES = ("Obras y urbanismo", "Personal", "Oficina de turismo", "Cultura", "Compras")


@pytest.mark.parametrize(
    "rows",
    [
        [(NAMES[number % 6], OFFICES[number % 5]) for number in range(30)],
        [(f"{NAMES[number % 6]} (término {number})", f"definición del término {number}") for number in range(28)],
        [(f"tarea {number}: revisión del equipo de obra", f"responsable número {number}") for number in range(16)],
        [(NAMES[number % 6].lower(), OFFICES[number % 5].lower()) for number in range(30)],
    ],
)
def test_a_table_of_words_keeps_its_rows(rows: list[tuple[str, str]]) -> None:
    text = parse("a.pdf", lines_of(rows)).text.replace(" | ", " ")
    places = [text.index(" ".join(row)) for row in rows]
    assert len(places) == len(rows)


def test_a_table_of_long_cells_keeps_its_rows() -> None:
    sentences = [sentence.strip() for sentence in PROSE.replace(",", ".").split(".") if len(sentence) > 40]
    cells = [textwrap.wrap(sentence.capitalize(), 26)[:3] for sentence in sentences]
    rows = [pair for number in range(8) for pair in zip(cells[number % 4], cells[(number + 1) % 4], strict=False)]
    text = " ".join(parse("a.pdf", lines_of(rows)).text.split())
    assert " ".join(rows[0]) in text
    assert " ".join(rows[3]) in text
