"""Thresholds act on a source's own score, before fusion."""

from __future__ import annotations

from ragcorp.application.thresholds import Threshold, above_thresholds, applicable
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
