"""A file of a page of text and a scanned page, and what is counted of it."""

from __future__ import annotations

from ragcorp.domain.recognition import RecognitionCounts
from support.recognition.scans import Scanner

NAME = "expediente.pdf"
TEXT = "El importe solicitado por la cooperativa es de 61.900 euros, con cargo al programa de este año, según consta."
GRANT = "Se concede a la cooperativa una ayuda de 47.250 euros."
SCAN = Scanner(dpi=72).scan("Resolución")


def counts(pages: int, done: int, failed: int = 0) -> RecognitionCounts:
    return RecognitionCounts(pages=pages, done=done, failed=failed)
