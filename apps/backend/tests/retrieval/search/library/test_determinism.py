"""The same question has the same answer to the last byte; the head never depends on the limit; pages are disjoint."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.library.rag import Rag
from ragcorp.interface.shapes.search import search_results
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

WORDS = """
    contrato entrega plazo factura pago cliente proveedor garantía devolución martes Goa vacaciones marzo vuelo
    precio almacén REQ-2024-001 CAS-456 Marta Luis Priya Rajesh dirección horario
""".split()  # noqa: SIM905
PROFILES = ("hybrid", "linear", "dense", "sparse", "collections", "memory", "everything")


async def fill(rag: Rag) -> None:
    chance = random.Random(5)
    now = datetime.now(UTC)

    def text(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    for number in range(12):
        await rag.ingest_text(f"d{number}.md", "\n\n".join(f"# {text(2)}\n\n{text(30)}" for _ in range(4)))
    for number in range(40):
        about: dict[str, Any] = {"speaker": chance.choice(["Marta", "Luis"]), "session": f"s-{number % 4}"}
        await rag.history.add(text(9), occurred_at=now - timedelta(hours=5 * number), **about)
    for _ in range(15):
        await rag.memory.add(text(6), artifact_type=chance.choice(["fact", "person", "preference"]))
    for number in range(15):
        subject, thing = chance.sample(["Marta", "Luis", "Priya", "Rajesh", "Goa"], 2)
        await rag.graph.add_fact(subject, f"{text(2)} {number}", thing, weight=chance.random())
    await rag.embed_pending()


def asked(chance: random.Random) -> dict[str, Any]:
    return {
        "query": " ".join(chance.choices(WORDS, k=chance.randint(1, 5))),
        "profile": chance.choice(PROFILES),
        "include_memory": chance.random() < 0.3,
        "expand_neighbors": chance.choice([0, 0, 1]),
        "facets": chance.random() < 0.2,
    }


def written(response: SearchResponse) -> bytes:
    return json.dumps(search_results(response, request_id="request"), default=str, ensure_ascii=False).encode()


def results(response: SearchResponse) -> list[Mapping[str, object]]:
    return search_results(response, request_id="request")["results"]


async def compare(rag: Rag, count: int) -> None:
    chance = random.Random(11)
    questions = [asked(chance) for _ in range(count)]
    first = [written(await rag.search(**question)) for question in questions]
    again = [written(await rag.search(**question)) for question in questions]
    assert first == again


async def test_asked_twice(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag(enable_hybrid_search=True)
    await fill(rag)
    await compare(rag, 60)


@pytest.mark.soak
async def test_a_thousand_asked_twice(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag(enable_hybrid_search=True)
    await fill(rag)
    await compare(rag, 1000)


async def test_a_larger_limit_never_changes_the_head_and_pages_are_disjoint(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag(enable_hybrid_search=True)
    await fill(rag)
    chance = random.Random(23)
    for profile in PROFILES:
        question = asked(chance) | {"profile": profile, "query": "contrato entrega Marta Goa", "facets": False}
        whole = results(await rag.search(**question, limit=50))
        for limit in (1, 2, 7, 19):
            assert results(await rag.search(**question, limit=limit)) == whole[:limit], (profile, limit)
        pages, cursor = [], None
        while True:
            page = await rag.search(**question, limit=7, cursor=cursor)
            pages += results(page)
            cursor = page.next_cursor
            if cursor is None:
                break
        assert pages[: len(whole)] == whole, profile
        names = [(item["collection"], item["id"]) for item in pages]
        assert len(set(names)) == len(names), profile
