"""Diversification by Maximal Marginal Relevance (MMR).

mmr(c) = trade_off * relevance(c) - (1 - trade_off) * max over the chosen s of  similarity(c, s)

Carbonell, Goldstein: The use of MMR, diversity-based reranking for reordering documents and producing summaries,
SIGIR 1998. Relevance is the score divided by the pool's highest, as fused scores are small; where a score is below 0,
which a reranker may give, it is (score - lowest) / (highest - lowest). Similarity is the cosine of the embeddings, at
least 0, or where one of the two has none the Jaccard index of their lexemes: |a and b| / |a or b|.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from ragcorp.application.retrieval.steps import reranking
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.candidates import Candidate, Features, StepOutcome

STEP = "diversification"
FORMULA = "trade_off * relevance - (1 - trade_off) * max similarity to the chosen"

MAX_POOL_SIZE = 100

_NO_LEXEMES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversification:
    """``trade_off`` in [0, 1] is MMR's lambda; 1 is relevance alone. ``pool_size`` candidates are reordered.

    Raises InvalidInputError.

    >>> Diversification(trade_off=0.7).apply([], Features()).report.parameters['pool']
    0
    """

    trade_off: float = 0.7
    pool_size: int = 20

    def __post_init__(self) -> None:
        if not 0 <= self.trade_off <= 1:
            raise InvalidInputError.out_of_range(
                "mmr_lambda", "0 to 1", remedy="Use 1 for relevance alone, less for more variety."
            )
        if not 1 <= self.pool_size <= MAX_POOL_SIZE:
            raise InvalidInputError.out_of_range(
                "mmr_candidate_pool_size",
                f"1 to {MAX_POOL_SIZE}",
                remedy="A pool of some twenty is enough for a page; its cost grows with the square.",
            )

    def pool(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Return the first ``pool_size`` candidates, or the reranked ones among them: other scores differ."""
        pool = tuple(candidates[: self.pool_size])
        return tuple(takewhile(lambda candidate: reranking.STEP in candidate.notes, pool)) or pool

    def apply(self, candidates: Sequence[Candidate], features: Features) -> StepOutcome:
        """Return the whole pool in MMR order, then the others; ties by previous rank. Scores do not change."""
        pool = self.pool(candidates)
        chosen = self._chosen(pool, features)
        parameters = {"trade_off": self.trade_off, "pool_size": self.pool_size, "pool": len(pool)}
        return StepOutcome.of(STEP, (*chosen, *candidates[len(pool) :]), formula=FORMULA, parameters=parameters)

    def _chosen(self, pool: Sequence[Candidate], features: Features) -> list[Candidate]:
        keys = [candidate.key for candidate in pool]
        lexemes = [features.lexemes.get(key, _NO_LEXEMES) for key in keys]
        cosines = features.cosines
        relevance = relevances([candidate.score for candidate in pool])
        gain = [self.trade_off * value for value in relevance]
        penalty = 1.0 - self.trade_off
        nearest = [0.0] * len(pool)
        left = list(range(len(pool)))
        chosen: list[Candidate] = []
        while left:
            best = left[0]
            highest = gain[best] - penalty * nearest[best]
            for place in left:
                value = gain[place] - penalty * nearest[place]
                if value > highest:
                    best, highest = place, value
            left.remove(best)
            chosen.append(pool[best].noted(STEP, relevance=relevance[best], similarity=nearest[best], mmr=highest))
            key, own = keys[best], lexemes[best]
            for place in left:
                other = keys[place]
                cosine = cosines.get((key, other) if key < other else (other, key))
                alike = jaccard(own, lexemes[place]) if cosine is None else min(cosine, 1.0)
                nearest[place] = max(nearest[place], alike)
        return chosen


def relevances(scores: Sequence[float]) -> list[float]:
    """Return the scores in [0, 1], the highest as 1; where all are equal, 1 for each.

    >>> relevances([4.0, 1.0])
    [1.0, 0.25]
    """
    if not scores:
        return []
    lowest, highest = min(scores), max(scores)
    if lowest == highest:
        return [1.0] * len(scores)
    if lowest >= 0:
        return [score / highest for score in scores]
    span = highest - lowest
    if math.isinf(span):
        return [(score / 2 - lowest / 2) / (highest / 2 - lowest / 2) for score in scores]
    return [(score - lowest) / span for score in scores]


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the Jaccard index in [0, 1]; 0 for two empty sets.

    >>> jaccard(frozenset('ab'), frozenset('bc'))
    0.3333333333333333
    """
    common = len(left & right)
    return common / (len(left) + len(right) - common) if common else 0.0
