"""Thresholds act on a source's own score, before fusion."""

from __future__ import annotations

import pytest

from ragcorp.application.retrieval.fusion.thresholds import (
    Threshold,
    above_thresholds,
    applicable,
    distance_thresholds,
    distances_of,
)
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.retrieval import Hit, RankedList


def ranked(source: str, score_type: str, **scores: float) -> RankedList:
    hits = tuple(Hit(chunk_id=chunk_id, score=score) for chunk_id, score in scores.items())
    return RankedList(source=source, score_type=score_type, hits=hits)


def bm25(**evidence: float | None) -> RankedList:
    """A list by BM25 whose hits tell the evidence that they hold; their scores are high throughout."""
    hits = tuple(
        Hit(chunk_id=chunk_id, score=20.0 - place, evidence=share)
        for place, (chunk_id, share) in enumerate(evidence.items())
    )
    return RankedList(source="full_text", score_type="bm25", hits=hits)


FIFTH = Threshold(source="full_text", score_type="evidence_share", minimum=0.2)
HALF = Threshold(source="dense", score_type="cosine_distance", below=0.5)


def identities(ranked_list: RankedList) -> list[str | None]:
    return [hit.chunk_id for hit in ranked_list]


def test_hits_below_the_minimum_go_and_one_at_the_minimum_stays() -> None:
    (kept,) = above_thresholds([ranked("full_text", "evidence_share", a=0.75, b=0.2, c=0.19)], [FIFTH])
    assert identities(kept) == ["a", "b"]


def test_evidence_is_told_by_hits_that_another_score_ranks_and_their_order_and_scores_stay() -> None:
    (kept,) = above_thresholds([bm25(a=0.1, b=0.9, c=0.2, d=0.0)], [FIFTH])
    assert [(hit.chunk_id, hit.score) for hit in kept] == [("b", 19.0), ("c", 18.0)]


def test_where_one_hit_does_not_tell_its_evidence_none_is_cut() -> None:
    lists = [bm25(a=0.1, b=None)]
    assert applicable(lists, [FIFTH]) == []
    assert above_thresholds(lists, [FIFTH]) == lists


def test_another_kind_of_score_of_the_same_source_is_left_alone() -> None:
    lists = [ranked("full_text", "ts_rank_cd", a=0.1, b=0.01)]
    assert above_thresholds(lists, [FIFTH]) == lists
    assert applicable(lists, [FIFTH]) == []


def test_another_source_is_left_alone() -> None:
    lists = [ranked("dense", "evidence_share", a=0.1)]
    assert above_thresholds(lists, [FIFTH]) == lists
    assert applicable(lists, [FIFTH]) == []


def test_a_list_may_become_empty() -> None:
    (kept,) = above_thresholds([bm25(a=0.19)], [FIFTH])
    assert identities(kept) == []


def test_only_thresholds_whose_list_is_there_apply() -> None:
    other = Threshold(source="dense", score_type="cosine_similarity", minimum=0.5)
    lists = [bm25(a=0.3), ranked("identifiers", "identifier_match", a=0.1)]
    assert applicable(lists, [FIFTH, other]) == [FIFTH]
    assert [identities(kept) for kept in above_thresholds(lists, [FIFTH, other])] == [["a"], ["a"]]


def test_vectors_below_the_distance_threshold_stay_and_those_at_it_or_above_are_discarded() -> None:
    # the specification's scenarios: distances .49, .5, .51 and 1.2 against .5
    lists = [ranked("dense", "cosine_similarity", a=0.51, b=0.5, c=0.49, d=-0.2)]
    (kept,) = above_thresholds(lists, [HALF])
    assert [(hit.chunk_id, hit.score) for hit in kept] == [("a", 0.51)]
    assert applicable(lists, [HALF]) == [HALF]


@pytest.mark.parametrize(("similarity", "below"), [(0.8, 0.2), (0.9, 0.1), (0.86, 0.14), (0.7, 0.3), (-0.1, 1.1)])
def test_a_distance_that_equals_the_threshold_is_discarded_whatever_floating_point_makes_of_it(
    similarity: float, below: float
) -> None:
    at = Threshold(source="dense", score_type="cosine_distance", below=below)
    lists = [ranked("dense", "cosine_similarity", nearer=similarity + 1e-6, at=similarity)]
    assert [identities(kept) for kept in above_thresholds(lists, [at])] == [["nearer"]]


def test_a_distance_is_told_by_similarities_of_its_own_list_alone() -> None:
    lists = [
        ranked("dense", "half_centred_cosine", a=0.1),
        ranked("memory", "cosine_similarity", a=0.1),
        ranked("dense", "rrf", a=0.01),
    ]
    assert above_thresholds(lists, [HALF]) == lists
    assert applicable(lists, [HALF]) == []


def test_every_vector_may_be_too_far_away() -> None:
    (kept,) = above_thresholds([ranked("dense", "cosine_similarity", a=0.1, b=0.0)], [HALF])
    assert (kept.hits, kept.source, kept.score_type) == ((), "dense", "cosine_similarity")


@pytest.mark.parametrize(
    ("score_type", "bounds"),
    [
        ("cosine_distance", {"minimum": 0.5}),
        ("cosine_distance", {}),
        ("cosine_distance", {"minimum": 0.5, "below": 0.5}),
        ("cosine_similarity", {"below": 0.5}),
        ("bm25", {}),
    ],
)
def test_a_bound_of_the_other_direction_is_refused(score_type: str, bounds: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match="below"):
        Threshold(source="dense", score_type=score_type, **bounds)


def test_a_distance_for_each_dense_list_and_the_distances_among_thresholds() -> None:
    made = distance_thresholds(("dense", "memory.dense"), 0.5)
    assert made == (HALF, Threshold(source="memory.dense", score_type="cosine_distance", below=0.5))
    assert distances_of((FIFTH, *made)) == made


@pytest.mark.parametrize("below", [0.0, -0.5, 2.01, float("nan"), float("inf")])
def test_a_distance_out_of_range_is_refused(below: float) -> None:
    with pytest.raises(InvalidInputError) as refused:
        distance_thresholds(("dense",), below)
    assert (refused.value.field, refused.value.limit) == (
        "vector_score_threshold",
        "above 0, up to 2, as a cosine distance",
    )
