"""Scans made by code: text in the fonts that every PDF viewer has, printed, rotated, blurred and speckled."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pypdfium2
from fpdf import FPDF
from PIL import Image, ImageFilter

PROSE = (
    "El señor Muñoz Ibáñez compareció ante la notaría de Logroño el 14 de septiembre de 2025.",
    "La fianza asciende a 47.250,00 € y se devolverá en 30 días, según la cláusula undécima.",
    "¿Quién responde de los daños del almacén? Responderá el arrendatario, salvo vicio oculto.",
    "¡Atención! El pingüino y la cigüeña no están cubiertos por la póliza n.º 8812-B/2024.",
    "El índice de humedad medido fue del 44,5 % en la parcela número 7, con ±0,3 puntos.",
    "Ningún órgano colegiado podrá adoptar acuerdos sin la asistencia de dos tercios.",
    "Según el último análisis, la presión máxima es de 6 bar y no excederá de 85 ºC.",
    "ÁREA DE GESTIÓN ECONÓMICA: AÑO 2025, SEGÚN EL ÍNDICE DE LA COMPAÑÍA.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanner:
    """``noise`` is a standard deviation of grey levels, ``angle`` in degrees, ``blur`` a radius in pixels."""

    font: str = "times"
    size: float = 11.0
    dpi: int = 200
    noise: float = 0.0
    angle: float = 0.0
    blur: float = 0.0
    seed: int = 7

    def scan(self, text: str) -> Image.Image:
        """Return a page of A4 with the text."""
        pdf = FPDF()
        pdf.core_fonts_encoding = "windows-1252"
        pdf.add_page()
        pdf.set_font(self.font, size=self.size)
        pdf.multi_cell(0, self.size * 0.5, text)
        with pypdfium2.PdfDocument(bytes(pdf.output())) as document:
            page = document[0].render(scale=self.dpi / 72).to_pil().convert("L")
        page = page.rotate(self.angle, resample=Image.Resampling.BICUBIC, fillcolor=255)
        page = page.filter(ImageFilter.GaussianBlur(self.blur))
        grain = np.random.default_rng(self.seed).normal(0, self.noise, (page.height, page.width))
        return Image.fromarray(np.clip(np.asarray(page) + grain, 0, 255).astype("uint8"))


def image_file(*pages: Image.Image, kind: str = "PNG") -> bytes:
    """Return the pages as a file, several in a TIFF only."""
    file = io.BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if len(pages) > 1 else {}
    pages[0].save(file, kind, **more)
    return file.getvalue()


def pdf_of(*pages: str | Image.Image | tuple[Image.Image, str]) -> bytes:
    """Return a PDF of pages of text, of scans that fill the page, and of scans with a stamp over them."""
    pdf = FPDF()
    pdf.set_font("helvetica", size=12)
    for page in pages:
        pdf.add_page()
        if isinstance(page, str):
            pdf.multi_cell(0, 6, page)
            continue
        scan, stamp = page if isinstance(page, tuple) else (page, "")
        pdf.image(io.BytesIO(image_file(scan, kind="JPEG")), x=0, y=0, w=pdf.w, h=pdf.h)
        if stamp:
            pdf.text(10, 10, stamp)
    return bytes(pdf.output())


def character_errors(truth: str, found: str) -> float:
    """Return the character error rate: edit distance over length, with runs of white space as one space."""
    expected, read = " ".join(truth.split()), " ".join(found.split())
    distances = list(range(len(read) + 1))
    for row, character in enumerate(expected, 1):
        diagonals = pairwise(distances)
        distances = [row]
        for (diagonal, above), other in zip(diagonals, read, strict=True):
            distances.append(min(diagonal + (character != other), above + 1, distances[-1] + 1))
    return distances[-1] / len(expected)


def lines_of(texts: Sequence[str]) -> str:
    return "\n".join(texts)
