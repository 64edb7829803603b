"""What is remembered stays findable, however much is asked; facts of the graph answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ragcorp.interface.library.rag import Rag

pytestmark = pytest.mark.anyio

OpenRag = Callable[..., Any]

OLD = "El seguro del coche de Priya vence en noviembre."
ASKED = "¿Cuándo vence el seguro del coche de Priya?"
QUESTIONS = 20


@pytest.fixture
async def rag(open_rag: OpenRag) -> Rag:
    rag: Rag = await open_rag(enable_hybrid_search=True)
    return rag


async def ask_much(rag: Rag, session: str) -> None:
    """Ask for what nobody said: each question and its abstention are stored."""
    for number in range(QUESTIONS):
        answer = await rag.ask(f"¿Qué seguro del coche {number} vence?", profile="memory", conversation_id=session)
        assert answer.abstained
    await rag.embed_pending()


async def test_questions_bury_no_old_turn(rag: Rag) -> None:
    await rag.history.add(OLD, speaker="Rajesh", session="familia", occurred_at=datetime.now(UTC) - timedelta(days=26))
    await ask_much(rag, "c1")
    answer = await rag.ask(ASKED, profile="memory", limit=5)
    assert answer.text == f"Rajesh: «{OLD}» [1]"
    context = await rag.context(ASKED, limit=5)
    assert [item.text for item in context.items] == [OLD]
    result = await rag.search(ASKED, profile="everything", limit=5)
    assert [hit.chunk.content for hit in result.hits] == [OLD]


async def test_what_was_asked_is_found_where_it_is_asked_for(rag: Rag) -> None:
    await rag.history.add(OLD, speaker="Rajesh", session="familia", occurred_at=datetime.now(UTC) - timedelta(days=26))
    await rag.ask(ASKED, profile="memory", conversation_id="c1")
    await rag.embed_pending()
    asked = await rag.search(ASKED, profile="memory", filters={"artifact_type": "question"})
    assert [hit.chunk.content for hit in asked.hits] == [ASKED]
    context = await rag.context(ASKED, session="c1")
    assert sorted(item.speaker or "" for item in context.items) == ["assistant", "user"]


async def test_a_conversation_still_sees_its_own_questions(rag: Rag) -> None:
    await rag.ask("¿Cuál es el plazo del contrato CTR-2026-014?", profile="memory", conversation_id="c1")
    answer = await rag.ask("¿y cuándo vence?", profile="memory", conversation_id="c1")
    assert answer.rewritten_query == "¿y cuándo vence? CTR-2026-014"


async def test_what_a_user_states_in_a_conversation_is_remembered(rag: Rag) -> None:
    stated = "Mi contrato con Acme vence en junio."
    await rag.ask(stated, profile="memory", conversation_id="c1")
    await rag.embed_pending()
    answer = await rag.ask("¿Cuándo vence mi contrato con Acme?", profile="memory")
    assert answer.text == f"user: «{stated}» [1]"


async def test_small_talk_is_answered_with_nothing(rag: Rag) -> None:
    await rag.ingest_text("acme.md", "El plazo de entrega del contrato Acme es de 30 días. Sí, no.")
    asked = "¿Cuál es el plazo de entrega del contrato Acme?"
    assert "30 días" in (await rag.ask(asked, conversation_id="c1")).text
    for text in ("gracias", "no", "hola", "Sí", "y", "a", "¿Y ella?"):
        answer = await rag.ask(text, conversation_id="c1")
        assert (answer.abstained, answer.rewritten_query) == (True, None), text
    assert "30 días" in (await rag.ask("¿y el plazo?", conversation_id="c1")).text


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("¿quién lleva el contrato de Acme Corporation?", "Marta -> Acme Corporation: lleva el contrato de"),
        ("¿Quién es jefa de Luis?", "Ana -> Luis: jefa de"),
        ("¿Quién es el jefe de Luis?", "Ana -> Luis: jefa de"),
    ],
)
async def test_a_fact_answers(rag: Rag, question: str, quote: str) -> None:
    await rag.graph.add_fact("Marta", "lleva el contrato de", "Acme Corporation")
    await rag.graph.add_fact("Ana", "jefa de", "Luis")
    await rag.embed_pending()
    answer = await rag.ask(question, profile="memory")
    assert answer.text == f"«{quote}» [1]"
    assert [(item.collection, item.quote) for item in answer.citations] == [("graph", quote)]
