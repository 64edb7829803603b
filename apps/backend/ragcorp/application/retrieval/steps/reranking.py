"""Reranking: the pool in the order of a reranker, then the others in theirs.

A reranker reads query and passage together, which costs more and is more exact than any source; so it scores the first
``pool_size`` candidates only. Their score becomes the reranker's, in its own units.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragcorp.domain.exceptions import InvalidInputError, InvalidRankingError
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Candidate, StepOutcome

STEP = "rerank"
FORMULA = "the reranker's score, for the first pool_size; behind them the others in their order"

MAX_POOL_SIZE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """``pool_size`` candidates are judged by the reranker of that name. Raises InvalidInputError.

    >>> Reranking(reranker='http').skipped([], reason='timeout').report.skipped
    'timeout'
    """

    reranker: str = ""
    pool_size: int = 20

    def __post_init__(self) -> None:
        if not 1 <= self.pool_size <= MAX_POOL_SIZE:
            raise InvalidInputError.out_of_range(
                "rerank_pool_size",
                f"1 to {MAX_POOL_SIZE}",
                remedy="Rerank some twenty; the cost of the reranker grows with the pool.",
            )

    def pool(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Return the candidates whose texts the reranker is to judge."""
        return tuple(candidates[: self.pool_size])

    def apply(self, candidates: Sequence[Candidate], scores: Mapping[HitKey, float]) -> StepOutcome:
        """Return the scored candidates by score, ties by key, then the others. Raises InvalidRankingError."""
        if not all(math.isfinite(score) for score in scores.values()):
            raise InvalidRankingError("A reranker's score must be finite.", field="score")
        judged = [
            candidate.noted(
                STEP, scores[candidate.key], rerank_score=scores[candidate.key], previous_score=candidate.score
            )
            for candidate in candidates
            if candidate.key in scores
        ]
        judged.sort(key=lambda candidate: (-candidate.score, candidate.key))
        others = [candidate for candidate in candidates if candidate.key not in scores]
        return self._outcome((*judged, *others), judged=len(judged))

    def skipped(self, candidates: Sequence[Candidate], *, reason: str) -> StepOutcome:
        """Return the candidates as they are, and why the reranker did not judge them."""
        return self._outcome(candidates, judged=0, skipped=reason)

    def _outcome(self, candidates: Sequence[Candidate], *, judged: int, skipped: str | None = None) -> StepOutcome:
        parameters = {"reranker": self.reranker, "pool_size": self.pool_size, "judged": judged}
        return StepOutcome.of(STEP, candidates, formula=FORMULA, parameters=parameters, skipped=skipped)
