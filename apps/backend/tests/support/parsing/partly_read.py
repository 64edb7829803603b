"""Files of which a part is not read."""

from __future__ import annotations

import io

from fpdf import FPDF
from PIL import Image

from support.parsing.kinds import zipped


def pdf_with_scanned_pages() -> bytes:
    """Return five pages, of which the second and the fourth are images."""
    pdf = FPDF()
    pdf.set_font("helvetica", size=12)
    for number in range(1, 6):
        pdf.add_page()
        if number in (2, 4):
            picture = io.BytesIO()
            Image.new("RGB", (200, 200), "white").save(picture, "PNG")
            pdf.image(picture)
        else:
            pdf.multi_cell(0, 6, f"Apartado {number}. El plazo de entrega es de {number} semanas.")
    return bytes(pdf.output())


def archive_with_a_program() -> bytes:
    return zipped({"contrato.md": "# Contrato\n\nEl plazo es de 30 días.\n", "programa.exe": b"MZ\x00"})
