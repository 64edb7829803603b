"""Thresholds act on a source's own score, before fusion."""

from __future__ import annotations

from ragcorp.application.thresholds import Threshold, above_thresholds
from ragcorp.domain.retrieval import Hit, RankedList


def ranked(source: str, score_type: str, **scores: float) -> RankedList:
    hits = tuple(Hit(chunk_id=chunk_id, score=score) for chunk_id, score in scores.items())
    return RankedList(source=source, score_type=score_type, hits=hits)


HALF = Threshold(source="full_text", score_type="lexeme_coverage", minimum=0.5)


def identities(ranked_list: RankedList) -> list[str | None]:
    return [hit.chunk_id for hit in ranked_list]


def test_hits_below_the_minimum_go_and_one_at_the_minimum_stays() -> None:
    (kept,) = above_thresholds([ranked("full_text", "lexeme_coverage", a=0.75, b=0.5, c=0.49)], [HALF])
    assert identities(kept) == ["a", "b"]


def test_another_kind_of_score_of_the_same_source_is_left_alone() -> None:
    (kept,) = above_thresholds([ranked("full_text", "ts_rank_cd", a=0.1, b=0.01)], [HALF])
    assert identities(kept) == ["a", "b"]


def test_another_source_is_left_alone() -> None:
    (kept,) = above_thresholds([ranked("dense", "lexeme_coverage", a=0.1)], [HALF])
    assert identities(kept) == ["a"]


def test_a_list_may_become_empty() -> None:
    (kept,) = above_thresholds([ranked("full_text", "lexeme_coverage", a=0.2)], [HALF])
    assert identities(kept) == []
