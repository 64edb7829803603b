"""Estimates the weights of linear fusion and the distance threshold from the similarities of an embedding model.

w = 4 * mean over queries of the standard deviation, over the passages, of  cos(q - m/2, p - m/2),    a = w / 2

with m the passages' mean vector: the half-centred cosine that linear fusion adds the share to. A score added to a
cosine has to move as far as the cosines of one query differ, and models differ widely in that.

distance threshold = the least multiple of .001 below which at least 99 % of the distances 1 - cos(q, p) lie, over the
relevant passages p among the ten nearest of each query q
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul, sub
from statistics import pstdev

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import InvalidInputError

DEVIATIONS = 4.0
MIN_PASSAGES = 2
ENOUGH_QUERIES, ENOUGH_PASSAGES = 10, 50
"""Of fewer, the deviation is an accident of the set."""
COVERED_SHARE = 0.99
ENOUGH_DISTANCES = 100
"""Of fewer, the last hundredth is not even one passage."""
STEPS = 1000
"""Thresholds are thousandths."""
MAX_DISTANCE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """``deviation`` of cosines (mean over queries), and the weights of evidence and identifiers that follow from it.

    ``distance_threshold`` is None where too few relevant passages were near their queries.

    >>> Calibration(deviation=0.04, queries=10, passages=50).evidence_weight
    0.16
    """

    deviation: float
    queries: int
    passages: int
    distance_threshold: float | None = None

    @property
    def evidence_weight(self) -> float:
        return DEVIATIONS * self.deviation

    @property
    def is_reliable(self) -> bool:
        """Whether there were enough queries and passages for the weights to be those of the model."""
        return self.queries >= ENOUGH_QUERIES and self.passages >= ENOUGH_PASSAGES

    @property
    def identifier_weight(self) -> float:
        return self.evidence_weight / 2


def calibrate(queries: Sequence[Vector], passages: Sequence[Vector]) -> Calibration:
    """Estimate the weights; costs queries times passages dot products.

    Raises InvalidInputError for no query or fewer than two passages.

    >>> calibrate([(1.0, 0.0)], [(1.0, 0.0), (0.0, 1.0)]).passages
    2
    """
    if not queries or len(passages) < MIN_PASSAGES:
        raise InvalidInputError(
            "A calibration needs at least one query and two passages.",
            field="--calibrate",
            limit=f"1 query, {MIN_PASSAGES} passages",
            remedy="Calibrate on a set of some hundred passages.",
        )
    half = [math.fsum(values) / len(passages) / 2 for values in zip(*passages, strict=True)]
    centred = [_centred(passage, half) for passage in passages]
    deviations = [
        pstdev([sum(map(mul, query, passage)) for passage in centred])
        for query in (_centred(query, half) for query in queries)
    ]
    return Calibration(deviation=math.fsum(deviations) / len(deviations), queries=len(queries), passages=len(passages))


def distance_threshold(distances: Sequence[float]) -> float | None:
    """Return the distance that 99 % of those to relevant passages stay below; None for fewer than a hundred.

    >>> distance_threshold([0.1] * 100)
    0.101
    """
    if len(distances) < ENOUGH_DISTANCES:
        return None
    covered = sorted(distances)[math.ceil(COVERED_SHARE * len(distances)) - 1]
    return min(MAX_DISTANCE, (math.floor(round(covered * STEPS, 6)) + 1) / STEPS)


def _centred(vector: Vector, half: Sequence[float]) -> list[float]:
    """Return ``vector - half`` at length 1; a vector that vanishes stays zero and is like none."""
    moved = list(map(sub, vector, half))
    length = math.sqrt(math.fsum(map(mul, moved, moved)))
    return [value / length for value in moved] if length else moved
