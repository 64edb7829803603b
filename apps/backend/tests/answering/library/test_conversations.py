"""Conversations and the memory context through the library, over PostgreSQL."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from memory.unit.test_briefing import HOSTILE, check_neutral

from ragcorp.domain.collections import Item
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.text.neutral_text import neutral
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.models.openai_server import openai_server
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

OpenRag = Callable[..., Any]

CONTRACT = """# Contrato CTR-2026-014

El plazo de entrega del contrato CTR-2026-014 es de 30 días hábiles.

El contrato CTR-2026-014 vence el 31 de mayo de 2027.
"""
OTHER = CONTRACT.replace("CTR-2026-014", "CTR-2025-900").replace("2027", "2030").replace("30 días", "90 días")
FIRST = "¿Cuál es el plazo de entrega del contrato CTR-2026-014?"
NEXT = "¿y cuándo vence?"

VACATION = "Le dije a Priya que podemos ir de vacaciones a Goa en marzo."
ASKED = "¿Qué le dije a Priya de las vacaciones?"
ANA, BEA = Principal(subject="ana"), Principal(subject="bea")


@pytest.fixture
async def rag(open_rag: OpenRag) -> Rag:
    rag: Rag = await open_rag(enable_hybrid_search=True)
    return rag


@pytest.fixture
async def with_memory(rag: Rag) -> Rag:
    now = datetime.now(UTC)
    said = {"session": "familia", "language": "es"}
    await rag.history.add(VACATION, speaker="Rajesh", occurred_at=now - timedelta(days=3), **said)
    await rag.history.add("Mañana tengo dentista.", speaker="Rajesh", occurred_at=now - timedelta(days=1), **said)
    await rag.memory.add("Priya vive en Pune.", artifact_type="person", entities=["Priya"])
    await rag.embed_pending()
    return rag


async def turns(rag: Rag, session: str) -> list[Item]:
    items, _ = await rag.history.list(filters={"session": session})
    return sorted(items, key=lambda item: item.attributes.occurred_at or datetime.now(UTC))


async def test_a_follow_up_finds_what_its_conversation_is_about(rag: Rag) -> None:
    await rag.ingest_text("a.md", OTHER)
    await rag.ingest_text("b.md", CONTRACT)
    first = await rag.ask(FIRST, conversation_id="c1")
    assert first.rewritten_query is None
    second = await rag.ask(NEXT, conversation_id="c1")
    assert second.rewritten_query == f"{NEXT} CTR-2026-014"
    assert "31 de mayo de 2027" in second.text
    assert [(item.speaker, item.text) for item in await turns(rag, "c1")] == [
        ("user", FIRST),
        ("assistant", first.text),
        ("user", NEXT),
        ("assistant", second.text),
    ]


async def test_a_conversation_is_its_askers_alone(rag: Rag) -> None:
    await rag.ingest_text("b.md", CONTRACT)
    ana, bea = rag.as_principal(ANA), rag.as_principal(BEA)
    await ana.ask(FIRST, conversation_id="c1")
    assert (await bea.ask(NEXT, conversation_id="c1")).rewritten_query is None
    assert [item.attributes.owner for item in await turns(ana, "c1")] == ["ana", "ana"]
    assert [item.attributes.owner for item in await turns(bea, "c1")] == ["bea", "bea"]
    await rag.embed_pending()
    texts = [item.text for item in (await bea.context("plazo contrato", session="c1", limit=50)).items]
    assert FIRST not in texts
    assert FIRST in [item.text for item in (await ana.context("plazo contrato", session="c1", limit=50)).items]


@pytest.mark.parametrize("about", [{}, {"owner": "ana"}, {"visibility_scope": VisibilityScope.GROUP, "owner": "ana"}])
async def test_nobody_puts_words_into_the_conversation_of_another(rag: Rag, about: dict[str, Any]) -> None:
    await rag.ingest_text("b.md", CONTRACT)
    ana, bea = rag.as_principal(ANA), rag.as_principal(Principal(subject="bea", groups=frozenset({"ana"})))
    await bea.history.add(FIRST, external_id="x", session="c1", speaker="user", **about)
    assert (await ana.ask(NEXT, conversation_id="c1")).rewritten_query is None
    await ana.history.add(FIRST, session="c2", speaker="user", visibility_scope=VisibilityScope.PRIVATE)
    assert (await ana.ask(NEXT, conversation_id="c2")).rewritten_query == f"{NEXT} CTR-2026-014"


async def test_an_answer_from_confidential_passages_is_confidential(rag: Rag) -> None:
    await rag.history.add(
        VACATION, speaker="Rajesh", sensitivity=Sensitivity.CONFIDENTIAL, occurred_at=datetime.now(UTC)
    )
    await rag.ask(ASKED, profile="memory", conversation_id="c1")
    levels = {item.speaker: item.attributes.sensitivity for item in await turns(rag, "c1")}
    assert levels == {"user": Sensitivity.NORMAL, "assistant": Sensitivity.CONFIDENTIAL}


async def test_without_history_an_answer_is_an_answer(rag: Rag, owner_dsn: str) -> None:
    await rag.ingest_text("b.md", CONTRACT)
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("ALTER TABLE history_turns RENAME TO history_turns_gone")
    answer = await rag.ask(FIRST, conversation_id="c1")
    assert "30 días hábiles" in answer.text
    assert [report.source for report in answer.degraded] == ["history"]


async def test_memory_answers_with_its_profile(with_memory: Rag) -> None:
    answer = await with_memory.ask(ASKED, profile="memory")
    assert answer.text.startswith(f"Rajesh: «{VACATION}» [")
    citation = answer.citations[0]
    assert (citation.collection, citation.title, citation.quote) == ("history", "Rajesh", VACATION)
    assert (await with_memory.ask("¿Cuánto cuesta el seguro del coche?", profile="memory")).abstained


async def test_neither_the_question_nor_its_answer_answers_it_again(with_memory: Rag) -> None:
    for _ in range(3):
        answer = await with_memory.ask(ASKED, profile="memory", conversation_id="c1")
        assert re.fullmatch(rf"Rajesh: «{re.escape(VACATION)}» \[\d\]", answer.text)
        await with_memory.embed_pending()


async def test_the_briefing_of_what_is_remembered(with_memory: Rag) -> None:
    context = await with_memory.context("vacaciones con Priya en Goa", limit=3)
    lines = context.context.split("\n")
    assert lines[3] == "Here's what you remember from recent conversations:"
    assert f'- Rajesh said: "{VACATION}"' in lines[4:-2]
    assert "- Priya vive en Pune." in lines[4:-2]
    assert len(context.items) == 3
    assert {item.collection for item in context.items} == {"history", "memory"}
    first = next(item for item in context.items if item.text == VACATION)
    assert (first.speaker, first.session) == ("Rajesh", "familia")


async def test_the_briefing_of_one_session(with_memory: Rag) -> None:
    await with_memory.history.add("Priya viene a la oficina.", speaker="Luis", session="trabajo")
    context = await with_memory.context("Priya", session="trabajo", limit=10)
    assert [item.session for item in context.items] == ["trabajo"]


async def test_an_empty_memory_is_an_empty_briefing(rag: Rag) -> None:
    context = await rag.context()
    assert (context.context, context.items) == ("", ())


async def test_a_source_that_hangs_is_named_and_the_rest_is_remembered(open_rag: OpenRag) -> None:
    parts = Parts(embedder=HashingEmbedder(), sources={"slow": ScriptedSource(name="slow", delay=30)})
    rag = await open_rag(parts=parts, source_timeout_seconds=0.3)
    await rag.memory.add("Priya vive en Pune.", artifact_type="person")
    await rag.embed_pending()
    started = time.monotonic()
    context = await rag.context("Priya")
    assert "- Priya vive en Pune." in context.context
    assert [(report.source, report.reason) for report in context.degraded] == [("slow", "timeout")]
    assert time.monotonic() - started < 3


async def test_hostile_memories_stay_inside_the_fence(rag: Rag) -> None:
    for number, text in enumerate(text for text in HOSTILE.values() if "\ud800" not in text and neutral(text)):
        await rag.history.add(f"Goa {text}"[:15_000], speaker=f"Priya {text}"[:300], session=f"s{number} {text}"[:300])
    context = await rag.context("Goa", limit=50)
    assert len(context.items) > 20
    fence, *lines, last = context.context.split("\n")
    assert context.context.count(fence) == 2
    assert fence == last
    assert (lines[0], lines[-1]) == ("<memory>", "</memory>")
    assert all(re.fullmatch(r'- Priya[^"]* said: "Goa[^"]*"', line) for line in lines[3:-1])
    assert len(context.context) <= 2000
    for item in context.items:
        check_neutral(item.text)
        check_neutral(item.session or "")


async def test_the_language_model_rewrites_and_answers(open_rag: OpenRag) -> None:
    async with openai_server() as server:
        rag = await open_rag(answer_provider="openai", openai_base_url=server.base_url, enable_hybrid_search=True)
        await rag.ingest_text("b.md", CONTRACT)
        alone = "¿Cuándo vence el contrato CTR-2026-014?"
        server.answer = lambda body: alone
        await rag.ask(FIRST, conversation_id="c1")
        answer = await rag.ask(NEXT, conversation_id="c1")
        assert answer.rewritten_query == alone
        rewriting, answering = (request.body for request in server.seen[-2:])
        assert not rewriting.get("stream")
        assert f"user said: {FIRST}" in rewriting["messages"][1]["content"]
        assert answering["messages"][1]["content"].endswith(f": {alone}")


async def test_a_briefing_holds_nothing_that_its_reader_may_not_read(rag: Rag) -> None:
    ana = rag.as_principal(ANA)
    await ana.history.add("Secreto de Ana en Goa", speaker="Ana", visibility_scope=VisibilityScope.PRIVATE)
    await ana.memory.add("Restringido: Goa", sensitivity=Sensitivity.RESTRICTED)
    await ana.memory.add("Goa tiene playas")
    await rag.embed_pending()
    reader = rag.as_principal(Principal(subject="bea", clearance=Sensitivity.NORMAL))
    context = await reader.context("Goa", limit=50)
    assert [item.text for item in context.items] == ["Goa tiene playas"]
    assert "Secreto" not in context.context
    assert len((await ana.context("Goa", limit=50)).items) == 3
