"""Reranking: the reranker's order for the pool, behind it the others as they were."""

from __future__ import annotations

import math

import pytest

from ragcorp.application.retrieval.steps.reranking import Reranking
from ragcorp.domain.exceptions import InvalidInputError, InvalidRankingError
from support.retrieval.candidates import candidates, names, scores

GIVEN = candidates(0.05, 0.04, 0.03, 0.02, 0.01)


def by_name(**judged: float) -> dict[tuple[str, str, int], float]:
    return {(name.removeprefix("_"), "", 0): score for name, score in judged.items()}


def test_the_pool_goes_by_the_rerankers_score_and_the_others_stand_behind() -> None:
    reranking = Reranking(reranker="http", pool_size=3)
    assert names(reranking.pool(GIVEN)) == ["1", "2", "3"]
    outcome = reranking.apply(GIVEN, by_name(_1=-4.0, _2=-1.5, _3=2.0))
    assert names(outcome.candidates) == ["3", "2", "1", "4", "5"]
    assert scores(outcome.candidates) == [2.0, -1.5, -4.0, 0.02, 0.01]
    assert outcome.candidates[0].notes["rerank"] == {"rerank_score": 2.0, "previous_score": 0.03}
    assert "rerank" not in outcome.candidates[3].notes
    assert (outcome.report.step, outcome.report.before, outcome.report.after) == ("rerank", 5, 5)
    assert outcome.report.parameters == {"reranker": "http", "pool_size": 3, "judged": 3}


def test_equal_scores_go_by_key() -> None:
    assert names(Reranking().apply(list(reversed(GIVEN)), by_name(_1=1.0, _3=1.0, _2=1.0)).candidates)[:3] == [
        "1",
        "2",
        "3",
    ]


def test_one_without_a_score_stands_behind_those_with_one() -> None:
    assert names(Reranking(pool_size=3).apply(GIVEN, by_name(_1=0.1, _3=0.9)).candidates) == ["3", "1", "2", "4", "5"]


def test_a_reranker_that_is_out_changes_nothing_and_is_named() -> None:
    outcome = Reranking(reranker="http").skipped(GIVEN, reason="timeout")
    assert outcome.candidates == tuple(GIVEN)
    assert (outcome.report.skipped, outcome.report.parameters["judged"]) == ("timeout", 0)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_refused(score: float) -> None:
    with pytest.raises(InvalidRankingError):
        Reranking().apply(GIVEN, by_name(_1=score))


@pytest.mark.parametrize("size", [0, -1, 201])
def test_a_pool_out_of_range_is_refused(size: int) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Reranking(pool_size=size)
    assert refused.value.field == "rerank_pool_size"
