"""Cuts off, before fusion, the hits whose score by their own source is too low.

A threshold names its source and its kind of score: there is none on a fused score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.retrieval import RankedList


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Hits of ``source`` whose score of kind ``score_type`` is below ``minimum`` are left out."""

    source: str
    score_type: str
    minimum: float


def above_thresholds(lists: Sequence[RankedList], thresholds: Sequence[Threshold]) -> list[RankedList]:
    """Return the lists without the hits below a threshold that is meant for them; order and ranks close up."""
    minimum = {(threshold.source, threshold.score_type): threshold.minimum for threshold in thresholds}
    kept = []
    for ranked in lists:
        least = minimum.get((ranked.source, ranked.score_type))
        if least is not None:
            ranked = replace(ranked, hits=tuple(hit for hit in ranked.hits if hit.score >= least))  # noqa: PLW2901
        kept.append(ranked)
    return kept
