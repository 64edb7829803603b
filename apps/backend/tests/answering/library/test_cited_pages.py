"""A quotation of a PDF is cited with the page that it stands on, where one passage spans many."""

from __future__ import annotations

from typing import Any

import pytest

from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

PAGES = 12
RECORDS = [f"La partida {number} tiene un plazo de {number + 40} días naturales." for number in range(1, PAGES + 1)]


def pdf(pages: list[str]) -> bytes:
    fpdf = pytest.importorskip("fpdf")
    made = fpdf.FPDF()
    made.set_font("helvetica", size=12)
    for text in pages:
        made.add_page()
        if text:
            made.multi_cell(0, 8, text)
    return bytes(made.output())


async def citation(rag: Any, question: str) -> Any:
    (result,) = (await rag.ask(question)).citations
    return result


async def test_each_quotation_stands_on_its_own_page(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await rag.ingest_bytes("obra.pdf", pdf(RECORDS), filename="obra.pdf")
    (passage, *_) = (await rag.search("partida", mode="sparse")).hits
    assert passage.chunk.page_end > passage.chunk.page_start + 3
    for number in range(1, PAGES + 1):
        cited = await citation(rag, f"¿Qué plazo tiene la partida {number}?")
        assert (cited.quote, cited.page) == (RECORDS[number - 1], number)


async def test_a_sentence_over_a_page_break_and_pages_that_are_blank(open_rag: OpenRag) -> None:
    rag = await open_rag()
    pages = [
        "La fianza es del 5 % del precio. El adjudicatario comunica cada",
        "avería a la oficina técnica. El acopio se paga a los 90 días.",
        "",
        "La garantía dura 24 meses desde la recepción.",
    ]
    await rag.ingest_bytes("pliego.pdf", pdf(pages), filename="pliego.pdf")
    wanted = {
        "¿De cuánto es la fianza?": 1,
        "¿Adónde comunica el adjudicatario cada avería?": 1,
        "¿Cuándo se paga el acopio?": 2,
    }
    for question, page in {**wanted, "¿Cuánto dura la garantía?": 4}.items():
        assert (await citation(rag, question)).page == page, question
