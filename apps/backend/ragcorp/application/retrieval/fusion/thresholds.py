"""Drops hits below a minimum score, or beyond a distance, before fusion.

A threshold names its source and kind of score; fused scores have none.

cosine distance = 1 - cosine similarity, in [0, 2]
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType

MAX_DISTANCE = 2.0
"""The cosine distance of opposite vectors."""

DIGITS = 9
"""Decimals of compared distances, so that 1 - .8 equals .2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A bound on the scores of list ``source``, of kind ``score_type``; hits that do not meet it are dropped.

    ``minimum`` is the lowest score; ``below``, for ``cosine_distance`` only, an exclusive maximum. ``evidence_share``
    also applies to hits with another score (``Hit.evidence``), ``cosine_distance`` to lists of ``cosine_similarity``.
    Raises InvalidInputError.

    >>> Threshold(source='dense', score_type=ScoreType.COSINE_DISTANCE, below=0.5).admits(0.5)
    False
    """

    source: str
    score_type: str
    minimum: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        if (self.below is not None) != self.is_distance or (self.minimum is None) != self.is_distance:
            raise InvalidInputError(
                "A threshold has one bound: a distance stays below it, any other score is at least it.",
                field="thresholds",
                remedy="Give below for cosine_distance, and minimum for any other kind of score.",
            )

    @property
    def is_distance(self) -> bool:
        return self.score_type == ScoreType.COSINE_DISTANCE

    def admits(self, score: float) -> bool:
        """Return whether a score of kind ``score_type`` meets the bound."""
        if self.below is not None:
            return round(score, DIGITS) < self.below
        return self.minimum is None or score >= self.minimum


def distance_thresholds(sources: Iterable[str], below: float) -> tuple[Threshold, ...]:
    """Return the threshold of cosine distance for each list of ``sources``. Raises InvalidInputError.

    >>> distance_thresholds(['dense'], 0.5)[0].below
    0.5
    """
    if not 0 < below <= MAX_DISTANCE:
        raise InvalidInputError.out_of_range(
            "vector_score_threshold",
            f"above 0, up to {MAX_DISTANCE:g}, as a cosine distance",
            remedy="Choose a distance in the range, or leave it to the profile.",
        )
    return tuple(Threshold(source=source, score_type=ScoreType.COSINE_DISTANCE, below=below) for source in sources)


def distances_of(thresholds: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Return the distance thresholds, which also apply to a single list and while another source is degraded.

    >>> distances_of([Threshold(source='dense', score_type=ScoreType.BM25, minimum=1.0)])
    ()
    """
    return tuple(threshold for threshold in thresholds if threshold.is_distance)


def applicable(lists: Sequence[RankedList], thresholds: Sequence[Threshold]) -> list[Threshold]:
    """Return the thresholds whose list and kind of score exist.

    >>> ranked = RankedList(source='dense', score_type=ScoreType.COSINE_SIMILARITY)
    >>> len(applicable([ranked], distance_thresholds(['dense', 'memory.dense'], 0.5)))
    1
    """
    return [
        threshold
        for threshold in thresholds
        if any(ranked.source == threshold.source and _has_scores(ranked, threshold.score_type) for ranked in lists)
    ]


def above_thresholds(lists: Sequence[RankedList], thresholds: Sequence[Threshold]) -> list[RankedList]:
    """Return the lists without the hits that their thresholds drop.

    >>> hits = (Hit(chunk_id='a', score=0.9), Hit(chunk_id='b', score=0.4))
    >>> ranked = RankedList(source='dense', score_type=ScoreType.COSINE_SIMILARITY, hits=hits)
    >>> len(above_thresholds([ranked], distance_thresholds(['dense'], 0.5))[0])
    1
    """
    kept = []
    for ranked in lists:
        applied = [
            threshold
            for threshold in thresholds
            if threshold.source == ranked.source and _has_scores(ranked, threshold.score_type)
        ]
        hits = ranked.hits
        for threshold in applied:
            hits = tuple(compress(hits, map(threshold.admits, _scores(hits, ranked, threshold))))
        kept.append(ranked.with_hits(hits) if len(hits) < len(ranked) else ranked)
    return kept


def _has_scores(ranked: RankedList, score_type: str) -> bool:
    if score_type == ScoreType.COSINE_DISTANCE:
        return ranked.score_type == ScoreType.COSINE_SIMILARITY
    if ranked.score_type == score_type:
        return True
    return score_type == ScoreType.EVIDENCE_SHARE and None not in [hit.evidence for hit in ranked.hits]


def _scores(hits: Sequence[Hit], ranked: RankedList, threshold: Threshold) -> list[float]:
    if threshold.is_distance:
        return [1 - hit.score for hit in hits]
    if ranked.score_type == threshold.score_type:
        return [hit.score for hit in hits]
    return [hit.evidence or 0.0 for hit in hits]
