"""The context engine's worked examples over the pure chain: fusion, decay, diversification."""

from __future__ import annotations

import math
import re

import pytest

from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.application.retrieval.steps.diversification import Diversification
from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.domain.retrieval import FusedHit, Hit, HitKey, RankedList
from ragcorp.domain.search.candidates import Candidate, Description, Features
from support.retrieval.candidates import NOW, described, names

GOA = "We should plan that Goa trip, Priya"
TOLD = "I told Priya we can do March for vacation"
DATES = "Priya said she needs to check dates"
FLIGHTS = "Looking at flights to Goa for next month"
EDGE = "Rajesh -> Priya: planning vacation to Goa in March"

ORIGIN = {GOA: "history", TOLD: "history", DATES: "history", FLIGHTS: "history", EDGE: "graph"}
# TOLD and FLIGHTS as the document has them; it leaves GOA and DATES open; a fact is fresh while it is valid
AGE_DAYS = {GOA: 10.0, TOLD: 3.0, DATES: 2.0, FLIGHTS: 45.0, EDGE: None}


def ranked(source: str, *texts: str) -> RankedList:
    hits = tuple(
        Hit(item_id=text, collection=ORIGIN[text], score=1.0 / rank) for rank, text in enumerate(texts, start=1)
    )
    return RankedList(source=source, score_type="x", hits=hits)


LISTS = [
    ranked("history.full_text", GOA, TOLD, DATES),
    ranked("history.dense", TOLD, GOA, FLIGHTS),
    ranked("graph", EDGE),
]


def description(text: str) -> Description:
    kind = "relationship" if text == EDGE else "turn"
    return described(collection=ORIGIN[text], kind=kind, age_days=AGE_DAYS[text])


def candidates_of(fused: tuple[FusedHit, ...]) -> list[Candidate]:
    return [Candidate(fused=item, score=item.score, description=description(item.hit.key[0])) for item in fused]


def lexemes() -> dict[HitKey, frozenset[str]]:
    return {(text, ORIGIN[text], 0): frozenset(re.findall(r"\w+", text.lower())) for text in AGE_DAYS}


def test_a_segment_of_three_lists() -> None:
    lists = [
        RankedList(source=source, score_type="x", hits=tuple(Hit(chunk_id=name, score=1.0) for name in results))
        for source, results in (("bm25", ["seg-A"]), ("vector", ["b", "seg-A"]), ("graph", ["c", "seg-A"]))
    ]
    (best, *_) = RankFusionService().fuse(lists)
    assert best.hit.chunk_id == "seg-A"
    assert best.score == math.fsum([1 / 61, 1 / 62, 1 / 62])
    assert round(best.score, 5) == 0.04865


def test_what_did_i_tell_priya_about_vacation() -> None:
    fused = RankFusionService().fuse(LISTS)
    fused_scores = {item.hit.key[0]: item.score for item in fused}
    assert {text: round(score, 4) for text, score in fused_scores.items()} == {
        TOLD: 0.0325,  # 1/62 + 1/61
        GOA: 0.0325,  # 1/61 + 1/62
        EDGE: 0.0164,  # 1/61
        DATES: 0.0159,  # 1/63
        FLIGHTS: 0.0159,  # 1/63
    }

    decayed = TemporalDecay().apply(candidates_of(fused), now=NOW).candidates
    factors = {entry.key[0]: entry.notes["temporal_decay"]["factor"] for entry in decayed}
    assert factors == pytest.approx({TOLD: 0.933, GOA: 0.794, DATES: 0.955, FLIGHTS: 0.354, EDGE: 1.0}, abs=5e-4)
    assert [(entry.key[0], round(entry.score, 4)) for entry in decayed] == [
        (TOLD, 0.0303),  # .0325 * .933
        (GOA, 0.0258),
        (EDGE, 0.0164),
        (DATES, 0.0152),
        (FLIGHTS, 0.0056),  # .0159 * .354
    ]

    outcome = Diversification().apply(decayed, Features(lexemes=lexemes()))
    # the fact shares "Priya", "vacation" and "March" with what was told: of 14 words, 3
    assert names(outcome.candidates) == [TOLD, GOA, DATES, EDGE, FLIGHTS]
    notes = {entry.key[0]: entry.notes["diversification"] for entry in outcome.candidates}
    assert {text: note["similarity"] for text, note in notes.items()} == {
        TOLD: 0.0,
        GOA: 2 / 14,  # we, Priya
        DATES: 1 / 13,  # Priya; with what was told 1/15
        EDGE: 3 / 14,
        FLIGHTS: 2 / 14,  # to, Goa: with the fact
    }
    assert notes[TOLD]["mmr"] == pytest.approx(0.7)
    assert notes[GOA]["mmr"] == pytest.approx(0.7 * 0.8507 - 0.3 * 2 / 14, abs=1e-4)
    assert set(names(outcome.candidates[:5])) == {GOA, TOLD, DATES, FLIGHTS, EDGE}
    assert {entry.key[0]: entry.score for entry in outcome.candidates} == {
        entry.key[0]: entry.score for entry in decayed
    }


def test_a_relationship_that_ended_long_ago_keeps_three_tenths() -> None:
    ended = [
        Candidate(
            fused=item, score=item.score, description=described(collection="graph", kind="relationship", age_days=300)
        )
        for item in RankFusionService().fuse([ranked("graph", EDGE)])
    ]
    (kept,) = TemporalDecay().apply(ended, now=NOW).candidates
    assert kept.score == pytest.approx(0.3 / 61)
