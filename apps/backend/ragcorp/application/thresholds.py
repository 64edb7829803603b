"""Cuts off, before fusion, the hits whose score by their own source is too low.

A threshold names its source and its kind of score: there is none on a fused score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.retrieval import Hit, RankedList, ScoreType


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Hits of list ``source`` whose score of kind ``score_type`` is below ``minimum`` are left out.

    ``evidence_share`` is also told by hits that are ranked by another score (``Hit.evidence``).
    """

    source: str
    score_type: str
    minimum: float


def applicable(lists: Sequence[RankedList], thresholds: Sequence[Threshold]) -> list[Threshold]:
    """Return the thresholds whose list and kind of score are there."""
    return [
        threshold
        for threshold in thresholds
        if any(ranked.source == threshold.source and _tells(ranked, threshold.score_type) for ranked in lists)
    ]


def above_thresholds(lists: Sequence[RankedList], thresholds: Sequence[Threshold]) -> list[RankedList]:
    """Return the lists without the hits below a threshold that is meant for them; order and ranks close up."""
    kept = []
    for ranked in lists:
        ours = [each for each in thresholds if each.source == ranked.source and _tells(ranked, each.score_type)]
        hits = tuple(hit for hit in ranked.hits if all(_score(hit, ranked, each) >= each.minimum for each in ours))
        kept.append(replace(ranked, hits=hits) if len(hits) < len(ranked) else ranked)
    return kept


def _tells(ranked: RankedList, score_type: str) -> bool:
    if ranked.score_type == score_type:
        return True
    return score_type == ScoreType.EVIDENCE_SHARE and all(hit.evidence is not None for hit in ranked.hits)


def _score(hit: Hit, ranked: RankedList, threshold: Threshold) -> float:
    return hit.score if ranked.score_type == threshold.score_type else hit.evidence or 0.0
