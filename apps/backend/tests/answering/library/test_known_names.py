"""A question for an unknown fact about a known name is not answered with a sentence about the name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

MINUTES = """# Acta del comité

Teresa Lafarga felicita al equipo de producto. Asisten Andrés Molinos y Teresa Lafarga.

De otra parte, Acme Corporation, con domicilio en Valencia. El contrato con Acme Corporation vence en marzo.
"""


@pytest.mark.parametrize(
    "question",
    [
        "¿Cuál es el sueldo de Teresa Lafarga?",
        "¿Cuál es el número de teléfono de Acme Corporation?",
        "¿Cuándo nació Andrés Molinos?",
        "What is the salary of Teresa Lafarga?",
    ],
)
async def test_the_answer_is_an_abstention(open_rag: Callable[..., Any], question: str) -> None:
    rag = await open_rag()
    await rag.ingest_text("acta.md", MINUTES)
    answer = await rag.ask(question)
    assert answer.abstained, answer.text


async def test_a_fact_about_the_name_is_answered(open_rag: Callable[..., Any]) -> None:
    rag = await open_rag()
    await rag.ingest_text("acta.md", MINUTES)
    answer = await rag.ask("¿Cuándo vence el contrato con Acme Corporation?")
    assert "vence en marzo" in answer.text
    assert not answer.abstained


@pytest.mark.parametrize(
    "query",
    [
        "plazo de entrega\n" + "-" * 60 + "\nhábiles",
        "plazo de entrega\n" + "\n".join(f"- punto {number}" for number in range(50)),
        "plazo | " + "--- | " * 11,
        "plazo " + " ".join(f"-palabra{number}" for number in range(40)),
        "plazo " + "-" * 33 + "entrega",
    ],
)
async def test_dashes_are_no_outage(open_rag: Callable[..., Any], query: str) -> None:
    rag = await open_rag()
    await rag.ingest_text("contrato.md", "El plazo de entrega es de 30 días hábiles.")
    response = await rag.search(query, mode="sparse")
    assert [hit.chunk.external_id for hit in response.hits] == ["contrato.md"]
    assert not response.degraded
