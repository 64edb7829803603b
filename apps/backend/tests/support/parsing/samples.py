"""Files made at test time, of every kind that the parser takes."""

from __future__ import annotations

import io
from email.message import EmailMessage

import docx
import openpyxl
import pptx
from fpdf import FPDF
from PIL import Image

LONG = (
    "El señor Núñez firmó el contrato de suministro en Logroño el día 3 de marzo. La duración pactada es de "
    "veinticuatro meses, prorrogables por acuerdo expreso de ambas partes, y la penalización por incumplimiento "
    "asciende al 12 % del importe pendiente."
)
SHORT = "Cualquier ampliación deberá comunicarse por escrito, con treinta días de antelación."


class _Report(FPDF):
    def header(self) -> None:
        self.set_font("helvetica", size=9)
        self.cell(0, 8, "ACME Corporación - Confidencial", align="C", new_x="LMARGIN", new_y="NEXT")

    def footer(self) -> None:
        self.set_y(-15)
        self.set_font("helvetica", size=8)
        self.cell(0, 8, f"Página {self.page_no()} de {{nb}}", align="C")


def _write(pdf: FPDF, text: str) -> None:
    pdf.set_font("helvetica", size=11)
    pdf.multi_cell(0, 6, text, new_x="LMARGIN", new_y="NEXT")
    pdf.ln(4)


def pdf_file(*, pages: int = 3, title: str | None = "Contrato de suministro", password: str | None = None) -> bytes:
    """A report with a running head, numbered pages, a broken word on each and a table on the second."""
    pdf = _Report()
    if title:
        pdf.set_title(title)
    for number in range(1, pages + 1):
        pdf.add_page()
        pdf.set_font("helvetica", "B", 16)
        pdf.cell(0, 10, f"{number}. Sección número {number}", new_x="LMARGIN", new_y="NEXT")
        _write(pdf, f"Apartado {number}. {LONG}")
        _write(pdf, SHORT)
        _write(pdf, "Texto con pala-\nbra cortada a final de línea.")
        if number == 2:
            pdf.set_font("helvetica", size=11)
            with pdf.table() as table:
                for cells in (
                    ("Concepto", "Precio", "Unidad"),
                    ("Instalación", "1.200,50", "vivienda"),
                    ("Revisión anual", "95,00", "equipo"),
                ):
                    row = table.row()
                    for cell in cells:
                        row.cell(cell)
    if password is not None:
        pdf.set_encryption(owner_password="otra", user_password=password)
    return bytes(pdf.output())


def scanned_pdf() -> bytes:
    pdf = FPDF()
    pdf.add_page()
    pdf.image(Image.new("RGB", (200, 200), "white"))
    return bytes(pdf.output())


def docx_file() -> bytes:
    document = docx.Document()
    document.add_heading("Política de vacaciones", 0)
    document.add_heading("Días por año", 1)
    document.add_paragraph("González & Hijos, S.L.: si x < 5 y z > 3, véase <b>.")
    document.add_paragraph("Antigüedad\tDías")
    document.add_paragraph("Primera viñeta", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, cells in enumerate((("Categoría", "Días"), ("Técnico | jefe", "22"))):
        for column, cell in enumerate(cells):
            table.cell(row, column).text = cell
    document.add_paragraph("Después de la tabla.")
    picture = io.BytesIO()
    Image.new("RGB", (20, 20), "red").save(picture, "PNG")
    document.add_picture(io.BytesIO(picture.getvalue()))
    return _saved(document)


def blank_docx_file() -> bytes:
    return _saved(docx.Document())


def xlsx_file(*, rows: int = 3) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Tarifas 2026"
    sheet.append(["Código", "Descripción", "Precio", "Alta"])
    for number in range(1, rows + 1):
        sheet.append([f"A-{number}", "Instalación & revisión\nanual", 1200.5, "2026-03-01"])
    sheet.append([None, None, None, None])
    sheet.append(["A_9*", "x < 3 | y", 95, True])
    return _saved(book)


def pptx_file() -> bytes:
    deck = pptx.Presentation()
    for number in (1, 2):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Lección {number}"
        slide.placeholders[1].text = f"Introducción < {number}\nSegundo punto"
        slide.notes_slide.notes_text_frame.text = f"Nota del orador {number}"
    return _saved(deck)


def html_file(*, charset: str = "utf-8") -> bytes:
    page = f"""<!doctype html><html lang="es"><head><meta charset="{charset}"><title>Guía &amp; rápida</title>
    <meta name="description" content="no debe verse"><style>p {{}}</style></head><body><nav><a href="/">Inicio</a></nav>
    <h1>Año nuevo</h1><p>El señor <b>Núñez</b> &amp; Cía.</p><script>alert(1)</script>
    <img src="data:image/png;base64,AAAABBBB" alt="logotipo">
    <table><tr><th>Código</th><th>Explicación</th></tr><tr><td>clave_caducada</td><td>Renueve la clave</td></tr></table>
    <ul><li>uno</li></ul></body></html>"""
    return page.encode(charset)


def csv_file(*, encoding: str = "utf-8") -> bytes:
    return 'código;descripción;precio\nA-1;Instalación básica;1200,5\nA-2;"Revisión; anual";95\n'.encode(encoding)


def eml_file(*, html_only: bool = False) -> bytes:
    message = EmailMessage()
    message["Subject"] = "Avería en Logroño"
    message["From"] = "José Peña <jose@empresa.example>"
    message["To"] = "soporte@empresa.example"
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0100"
    if html_only:
        message.set_content("<h2>Avería</h2><p>Sigue sin <b>señal</b>.</p>", subtype="html")
    else:
        message.set_content("Hola:\n\nLa avería sigue.\n> lo citado\n\nUn saludo\n-- \nJosé\n")
        message.add_alternative("<p>no</p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="parte.pdf")
    return message.as_bytes()


def _saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()
