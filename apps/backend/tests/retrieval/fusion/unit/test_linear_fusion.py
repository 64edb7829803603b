"""Hand-worked numbers of linear fusion."""

from __future__ import annotations

import math

import pytest

from ragcorp.application.retrieval.fusion.linear import LinearFusionService
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType


def scored(source: str, score_type: str, **scores: float) -> RankedList:
    hits = tuple(Hit(chunk_id=name, score=score) for name, score in scores.items())
    return RankedList(source=source, score_type=score_type, hits=hits)


COSINES = scored("dense", ScoreType.HALF_CENTRED_COSINE, a=0.62, b=0.60, c=0.55)
SHARES = scored("full_text", ScoreType.EVIDENCE_SHARE, b=0.5, c=0.1)
CODES = scored("identifiers", ScoreType.IDENTIFIER_MATCH, c=1.0)
WEIGHTS = {"dense": 1.0, "full_text": 0.17, "identifiers": 0.08}


def test_a_score_is_the_weighted_sum_of_absolute_scores() -> None:
    fused = {item.hit.chunk_id: item for item in LinearFusionService().fuse([COSINES, SHARES, CODES], weights=WEIGHTS)}
    assert fused["a"].score == 0.62
    assert fused["b"].score == math.fsum([0.60, 0.17 * 0.5])
    assert fused["c"].score == math.fsum([0.55, 0.17 * 0.1, 0.08 * 1.0])
    assert list(fused) == ["b", "c", "a"]
    assert [part.value for part in fused["c"].contributions] == [0.55, 0.17 * 0.1, 0.08]


def test_a_share_that_is_the_same_everywhere_changes_no_order() -> None:
    nothing_special = scored("full_text", ScoreType.EVIDENCE_SHARE, a=0.2, b=0.2, c=0.2)
    fused = LinearFusionService().fuse([COSINES, nothing_special], weights={"full_text": 5.0})
    assert [item.hit.chunk_id for item in fused] == ["a", "b", "c"]


def test_what_has_no_absolute_score_counts_by_rank() -> None:
    own = scored("graph", "hops", b=3.0, a=1.0)
    fused = {item.hit.chunk_id: item.score for item in LinearFusionService().fuse([COSINES, own], k=60)}
    assert fused == {"a": math.fsum([0.62, 1 / 62]), "b": math.fsum([0.60, 1 / 61]), "c": 0.55}


def test_a_negative_cosine_counts_against_a_hit() -> None:
    opposite = scored("dense", ScoreType.COSINE_SIMILARITY, a=-0.3)
    (only,) = LinearFusionService().fuse([opposite])
    assert only.score == -0.3


@pytest.mark.parametrize("weights", [{"dense": -1.0}, {"dense": math.nan}, {"graph": 1.0}])
def test_bad_weights_are_rejected(weights: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError):
        LinearFusionService().fuse([COSINES], weights=weights)


def test_two_lists_of_one_name_are_rejected() -> None:
    with pytest.raises(InvalidInputError):
        LinearFusionService().fuse([COSINES, COSINES])
