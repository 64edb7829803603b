"""Hand-worked numbers of Reciprocal Rank Fusion."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

import pytest

from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.domain.exceptions import InvalidInputError, InvalidRankingError
from ragcorp.domain.ports.sources import SourceAnswer
from ragcorp.domain.retrieval import Hit, RankedList

DOCUMENT = UUID("00000000-0000-4000-8000-000000000001")


def ranked(source: str, *chunk_ids: str) -> RankedList:
    return RankedList(
        source=source, score_type="test", hits=tuple(Hit(chunk_id=chunk_id, score=1.0) for chunk_id in chunk_ids)
    )


def test_the_example_of_the_context_engine_counts_ranks_from_one() -> None:
    lists = [ranked("bm25", "seg-A", "x"), ranked("vector", "y", "seg-A"), ranked("graph", "z", "seg-A")]
    best = RankFusionService(k=60).fuse(lists)[0]
    assert best.hit.chunk_id == "seg-A"
    assert round(best.score, 4) == 0.0487
    assert best.score == math.fsum([1 / 61, 1 / 62, 1 / 62])


def test_the_example_of_the_collections_adr_counts_ranks_from_zero() -> None:
    lists = [
        ranked("artifacts", "a", "b", "art_abc123"),
        ranked("artifact_chunks", "c", "d", "e", "f", "g", "art_abc123"),
    ]
    scores = {item.hit.chunk_id: item.score for item in RankFusionService(k=60, first_rank=0).fuse(lists)}
    assert round(scores["art_abc123"], 4) == 0.0315
    assert scores["art_abc123"] == math.fsum([1 / 62, 1 / 65])


def test_a_hit_of_one_list_alone_gets_one_sixty_first() -> None:
    (only,) = RankFusionService().fuse([ranked("dense", "a"), ranked("full_text")])
    assert only.score == 1 / 61
    assert [item.source for item in only.contributions] == ["dense"]


def test_two_second_places_beat_one_first() -> None:
    fused = RankFusionService().fuse([ranked("dense", "a", "both"), ranked("full_text", "b", "both")])
    assert [item.hit.chunk_id for item in fused] == ["both", "a", "b"]


def test_weights_multiply_what_their_list_gives() -> None:
    fused = RankFusionService().fuse(
        [ranked("dense", "a"), ranked("full_text", "b")], weights={"dense": 1.0, "full_text": 2.0}
    )
    assert [(item.hit.chunk_id, item.score) for item in fused] == [("b", 2 / 61), ("a", 1 / 61)]


def test_the_rank_constant_of_a_call_overrides_the_services() -> None:
    (only,) = RankFusionService(k=60).fuse([ranked("dense", "a")], k=9)
    assert only.score == 1 / 10


def test_identity_is_the_chunk_id_else_document_and_index() -> None:
    by_position = Hit(document_id=DOCUMENT, chunk_index=3, score=0.5)
    fused = RankFusionService().fuse(
        [
            RankedList(source="dense", score_type="test", hits=(by_position,)),
            RankedList(
                source="full_text", score_type="test", hits=(Hit(document_id=DOCUMENT, chunk_index=3, score=9.0),)
            ),
        ]
    )
    assert len(fused) == 1
    assert fused[0].score == math.fsum([1 / 61, 1 / 61])


def test_the_first_occurrence_is_kept_and_completed_by_later_ones() -> None:
    first = Hit(chunk_id="a", score=0.9, metadata={"title": "first"})
    later = Hit(chunk_id="a", score=7.0, metadata={"title": "later", "page": 4})
    (only,) = RankFusionService().fuse(
        [
            RankedList(source="dense", score_type="test", hits=(first,)),
            RankedList(source="full_text", score_type="test", hits=(later,)),
        ]
    )
    assert only.hit.score == 0.9
    assert dict(only.hit.metadata) == {"title": "first", "page": 4}


def test_contributions_name_source_rank_score_and_weight() -> None:
    (only,) = RankFusionService().fuse([ranked("dense", "a")], weights={"dense": 3.0})
    (contribution,) = only.contributions
    assert (contribution.source, contribution.rank, contribution.score, contribution.weight) == ("dense", 1, 1.0, 3.0)
    assert contribution.value == 3 / 61


def test_no_lists_give_no_hits() -> None:
    assert RankFusionService().fuse([]) == ()


def test_two_lists_of_one_source_are_rejected() -> None:
    with pytest.raises(InvalidInputError):
        RankFusionService().fuse([ranked("dense", "a"), ranked("dense", "b")])


def test_a_weight_for_an_unknown_source_is_rejected() -> None:
    with pytest.raises(InvalidInputError):
        RankFusionService().fuse([ranked("dense", "a")], weights={"graph": 1.0})


@pytest.mark.parametrize(("k", "first_rank"), [(-1, 1), (0, 0), (60, 2)])
def test_parameters_that_could_divide_by_zero_are_rejected(k: int, first_rank: int) -> None:
    with pytest.raises(InvalidInputError):
        RankFusionService(k=k, first_rank=first_rank)


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_hit_needs_a_finite_score(score: float) -> None:
    with pytest.raises(InvalidRankingError):
        Hit(chunk_id="a", score=score)


@pytest.mark.parametrize(
    "fields",
    [
        {"chunk_id": 1},
        {"chunk_id": ""},
        {"chunk_id": b"1"},
        {"document_id": "zzz", "chunk_index": 0},
        {"document_id": DOCUMENT, "chunk_index": "a"},
        {"document_id": DOCUMENT, "chunk_index": True},
        {"document_id": DOCUMENT, "chunk_index": -1},
        {"document_id": DOCUMENT, "chunk_index": 10**20},
        {"chunk_id": "1", "document_id": "zzz"},
        {"chunk_id": "1", "chunk_index": "a"},
        {"chunk_id": "1", "metadata": None},
        {"chunk_id": "1", "metadata": [("a", 1)]},
        {"chunk_id": "1", "score": "1"},
        {"chunk_id": "1", "score": None},
        {"chunk_id": "1", "score": True},
        {"chunk_id": "1", "score": 10**400},
        {"chunk_id": "1", "score": -math.inf},
    ],
    ids=repr,
)
def test_a_hit_of_other_types_is_no_hit(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRankingError):
        Hit(**({"score": 1.0} | fields))


@pytest.mark.parametrize(
    "fields",
    [{"source": 1}, {"source": ""}, {"score_type": None}, {"hits": None}, {"hits": []}, {"hits": ("1",)}],
    ids=repr,
)
def test_a_ranked_list_of_other_types_is_none(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRankingError):
        RankedList(**({"source": "a", "score_type": "test"} | fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"ranked_list": None},
        {"incomplete": ""},
        {"incomplete": 1},
        *({"seen": seen} for seen in (None, "1", math.nan, math.inf, -1, 1.01)),
    ],
    ids=repr,
)
def test_an_answer_of_other_types_is_none(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRankingError):
        SourceAnswer(**({"ranked_list": RankedList(source="a", score_type="test")} | fields))


def test_a_hit_needs_an_identity() -> None:
    with pytest.raises(InvalidRankingError):
        Hit(score=1.0, chunk_index=0)
