"""Profile memory end to end: memory, history and graph fused, aged, deduplicated and diversified, over PostgreSQL."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.requests import SearchHit, SearchResponse
from ragcorp.interface.library.rag import Rag
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

TOLD = "I told Priya we can do March for vacation"
PLAN = "We should plan that Goa trip, Priya"
CHECK = "Priya said she needs to check dates"
FLIGHTS = "Looking at flights to Goa for next month"
QUESTION = "What did I tell Priya about vacation?"
HALF_AN_HOUR_IN_DAYS = 1 / 24
"""The moment of a search is the begun hour: an age is up to an hour short."""


async def vacation(rag: Rag) -> None:
    """The context engine's example; the ages that it leaves open are 5 and 6 days."""
    now = datetime.now(UTC)
    for text, days in ((TOLD, 3), (PLAN, 5), (CHECK, 6), (FLIGHTS, 45)):
        speaker = "Priya" if text == CHECK else "Rajesh"
        await rag.history.add(
            text, speaker=speaker, session="s-1", occurred_at=now - timedelta(days=days), language="en"
        )
    await rag.graph.add_fact("Rajesh", "planning vacation to Goa in March", "Priya", language="en")
    await rag.embed_pending()


def by_text(response: SearchResponse) -> dict[str, SearchHit]:
    return {hit.chunk.content: hit for hit in response.hits}


async def test_the_vacation_example(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag()
    await vacation(rag)
    response = await rag.search(QUESTION, profile="memory", limit=5, explain=True)
    assert not response.degraded
    hits = by_text(response)
    assert set(hits) == {TOLD, PLAN, CHECK, FLIGHTS, "Rajesh -> Priya: planning vacation to Goa in March"}
    for text, days in ((TOLD, 3), (PLAN, 5), (CHECK, 6), (FLIGHTS, 45)):
        hit = hits[text]
        fused = math.fsum(part.value for part in hit.sources)
        decay = hit.steps["temporal_decay"]
        assert decay["fused"] == pytest.approx(fused, abs=1e-12)
        assert decay["age_days"] == pytest.approx(days, abs=HALF_AN_HOUR_IN_DAYS)
        assert hit.score == pytest.approx(fused * 2 ** (-days / 30), rel=2e-3)
        assert hit.score_type == "decayed"
    fact = hits["Rajesh -> Priya: planning vacation to Goa in March"]
    assert (fact.chunk.collection, fact.collections, fact.steps["temporal_decay"]["factor"]) == (
        "graph",
        ("graph",),
        1.0,
    )
    # 45 days old: too old for the look-back of words, found by meaning alone
    assert {part.source for part in hits[FLIGHTS].sources} == {"history.dense"}
    assert {part.source for part in hits[TOLD].sources} == {"history.dense", "history.full_text"}
    assert response.hits[0].chunk.content in (TOLD, fact.chunk.content)


async def test_it_says_what_each_step_did(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag()
    await vacation(rag)
    response = await rag.search(QUESTION, profile="memory", explain=True)
    assert [(step.step, step.before, step.after) for step in response.steps] == [
        ("describe", 5, 5),
        ("temporal_decay", 5, 5),
        ("deduplication", 5, 5),
        ("visibility", 5, 5),
        ("diversification", 5, 5),
    ]
    explained = response.explanation
    assert explained is not None
    assert [line["step"] for line in explained["steps"]] == [step.step for step in response.steps]  # type: ignore[attr-defined]
    assert explained["pools"] == {
        "memory.full_text": 100,
        "history.full_text": 100,
        "memory.dense": 50,
        "history.dense": 50,
        "graph": 25,
    }
    assert explained["lookback_hours"] == {"history.full_text": 168.0}


async def test_what_is_evergreen_keeps_its_floor(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag()
    old = datetime.now(UTC) - timedelta(days=3650)
    await rag.memory.add("Rajesh está casado con Priya", artifact_type="relationship", occurred_at=old)
    await rag.memory.add("Rajesh quería comprar una bicicleta", artifact_type="preference", occurred_at=old)
    await rag.embed_pending()
    response = await rag.search("Rajesh", profile="memory", explain=True)
    factors = {hit.chunk.artifact_type: hit.steps["temporal_decay"]["factor"] for hit in response.hits}
    assert factors["relationship"] == 0.3
    assert factors["preference"] == pytest.approx(2 ** (-3650 / 30), rel=1e-2)
    assert response.hits[0].chunk.artifact_type == "relationship"


async def test_memory_goes_with_any_profile_that_is_asked_to(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag(enable_hybrid_search=True)
    await rag.ingest_text("entregas.md", "Las entregas del contrato son los martes por la tarde.")
    await rag.memory.add("Marta prefiere las entregas por la mañana", artifact_type="preference", speaker="Marta")
    await rag.embed_pending()
    alone = await rag.search("entregas por la mañana")
    assert {hit.chunk.collection for hit in alone.hits} == {"artifact_chunks"}
    for options in ({}, {"method": "linear"}, {"mode": "dense"}, {"mode": "sparse"}, {"profile": "collections"}):
        both = await rag.search("entregas por la mañana", include_memory=True, **options)
        assert {hit.chunk.collection for hit in both.hits} >= {"memory"}, options
        assert [hit.chunk.speaker for hit in both.hits if hit.chunk.collection == "memory"] == ["Marta"], options


async def test_facets_count_what_was_found(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag()
    await vacation(rag)
    response = await rag.search(QUESTION, profile="memory", facets=True, limit=1)
    assert response.facets is not None
    assert response.facets["collection"] == {"graph": 1, "history": 4}
    assert response.facets["artifact_type"] == {"fact": 1, "turn": 4}
    assert response.facets["language"] == {"en": 5}
    assert sum(response.facets["month"].values()) == 4


async def test_a_filter_that_a_source_cannot_apply_leaves_it_out_and_says_so(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag()
    await vacation(rag)
    response = await rag.search(QUESTION, profile="memory", filters={"speaker": "Priya"})
    assert [hit.chunk.content for hit in response.hits] == [CHECK]
    assert {report.source: report.reason for report in response.degraded} == {"graph": "filter:speaker"}
    only = await rag.search(QUESTION, profile="memory", filters={"collection": "graph"})
    assert {hit.chunk.collection for hit in only.hits} == {"graph"}
    assert not only.degraded


async def test_operators_of_a_web_search_are_for_chunks_alone(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag(enable_hybrid_search=True)
    await rag.ingest_text("entregas.md", "Las entregas urgentes del contrato son los martes.")
    for number in range(5):
        await rag.memory.add(f"Recuerdo {number} de las entregas aplazadas")
    await rag.embed_pending()
    response = await rag.search("entregas -aplazadas", syntax="websearch", include_memory=True)
    assert [hit.chunk.collection for hit in response.hits] == ["artifact_chunks"]
    assert {report.source: report.reason for report in response.degraded} == {
        "memory.dense": "syntax:websearch",
        "memory.full_text": "syntax:websearch",
    }
    with pytest.raises(InvalidInputError) as caught:
        await rag.search("entregas -aplazadas", syntax="websearch", profile="memory")
    assert caught.value.field == "syntax"


async def test_a_relationship_that_is_over_ages_to_the_evergreen_floor(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag()
    over = datetime.now(UTC) - timedelta(days=300)
    await rag.graph.add_fact("Rajesh", "estuvo casado con", "Priya", kind="relationship", valid_to=over)
    await rag.graph.add_fact("Rajesh", "trabajó en", "Zafiro", valid_to=over)
    response = await rag.search("Rajesh", profile="memory", explain=True)
    factors = {hit.chunk.artifact_type: hit.steps["temporal_decay"]["factor"] for hit in response.hits}
    assert factors["relationship"] == 0.3
    assert factors["fact"] == pytest.approx(2 ** (-300 / 30), rel=1e-2)
    only = await rag.search("Rajesh", profile="memory", filters={"artifact_type": "relationship"})
    assert [hit.chunk.content for hit in only.hits] == ["Rajesh -> Priya: estuvo casado con"]
