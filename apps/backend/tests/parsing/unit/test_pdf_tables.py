"""Tables of PDF files come out with their columns, and nothing is lost."""

from __future__ import annotations

import pytest
from fpdf import FPDF

from support.parsing.kinds import parse

HEAD = ("Concepto", "Precio", "Unidad de medida")
ROWS = (("Instalación", "1.200,50", "vivienda"), ("Revisión", "95,00", "equipo"), ("Otro", "3,00", "mes"))


def page(pdf: FPDF, rows: object, **options: object) -> None:
    with pdf.table(**options) as table:  # type: ignore[arg-type]
        for cells in rows:  # type: ignore[attr-defined]
            row = table.row()
            for cell in cells:
                row.cell(cell)


def pdf_of(rows: object, **options: object) -> bytes:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=10)
    pdf.multi_cell(0, 6, "Texto de antes.", new_x="LMARGIN", new_y="NEXT")
    page(pdf, rows, **options)
    pdf.multi_cell(0, 6, "Texto de después.", new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


def markdown(*rows: tuple[str, ...]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"| {' | '.join('---' for _ in rows[0])} |", *lines[1:]])


@pytest.mark.parametrize("borders", ["ALL", "MINIMAL", "HORIZONTAL_LINES", "SINGLE_TOP_LINE", "NONE"])
def test_a_table(borders: str) -> None:
    text = parse("a.pdf", pdf_of((HEAD, *ROWS), borders_layout=borders)).text
    assert text == f"Texto de antes.\n\n{markdown(HEAD, *ROWS)}\n\nTexto de después."


@pytest.mark.parametrize("borders", ["ALL", "MINIMAL"])
def test_ruled_cells_of_several_lines_and_empty_ones(borders: str) -> None:
    long = "Revisión anual muy larga que ocupa dos líneas de la celda seguro"
    text = parse("a.pdf", pdf_of((HEAD, ROWS[0], (long, "95,00", "")), borders_layout=borders)).text
    assert f"| {long} | 95,00 | |" in text


def test_a_table_that_goes_on_has_its_headings_on_each_page() -> None:
    rows = [(f"Servicio {number}", f"{number},50 EUR") for number in range(60)]
    parsed = parse("a.pdf", pdf_of((("Servicio", "Cuota"), *rows), repeat_headings=0))
    second = parsed.text[parsed.page_starts[1] :]
    assert second.startswith("| Servicio | Cuota |\n| --- | --- |\n| Servicio ")
    assert all(f"| {service} | {fee} |" in parsed.text for service, fee in rows)


def test_prose_and_lists_are_no_tables() -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=10)
    for number in range(5):
        pdf.text(20, 30 + 6 * number, f"Izquierda {number} de la nutria")
        pdf.text(110, 30 + 6 * number, f"derecha {number} de la comadreja")
    text = parse("a.pdf", bytes(pdf.output())).text
    assert "|" not in text
    assert text.count("nutria") == text.count("comadreja") == 5


def test_headings_of_columns_are_no_heading_of_the_text() -> None:
    pdf = FPDF()
    pdf.add_page()
    for number, style in enumerate(["", "B", "", ""]):
        pdf.set_font("helvetica", style, 10)
        for column, word in enumerate(["Nombre", "Cargo", "Lugar"]):
            pdf.text(20 + 60 * column, 30 + 6 * number, f"{word} {number}" if number != 1 else word)
    assert "#" not in parse("a.pdf", bytes(pdf.output())).text


def test_a_word_drawn_in_pieces_and_a_word_broken_within_a_cell() -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=10)

    def draw(left: float, line: float, text: str) -> None:
        pdf.text(left, line, text[:4])
        pdf.text(left + pdf.get_string_width(text[:4]), line, text[4:])

    for top, height, left_lines, right in (
        (24, 8, ["Servicio"], "Cuota"),
        (32, 8, ["Desacuerdo"], "1.200"),
        (40, 12, ["Manteni-", "miento de equipos"], "95"),
    ):
        for number, text in enumerate(left_lines):
            draw(20, top + 5 + 5 * number, text)
        draw(100, top + 5, right)
        pdf.rect(18, top, 80, height)
        pdf.rect(98, top, 60, height)
    assert parse("a.pdf", bytes(pdf.output())).text == markdown(
        ("Servicio", "Cuota"), ("Desacuerdo", "1.200"), ("Mantenimiento de equipos", "95")
    )
