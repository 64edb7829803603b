"""Linear fusion of absolute scores.

score(d) = sum over the lists that have d of  w * s(d)        where s is an absolute score
                                              w / (k + rank)  where it is not (ts_rank_cd, a user's own, ...)

A score is absolute if it means the same in every query: a cosine, a share. Then a list that knows little about a query
gives little to everything, where ranks would have it name a winner. No score is normalised or imputed: the lists of
absolute scores must contain every candidate (``search.list_fusion``).

Bruch, Gai, Ingber: An analysis of fusion functions for hybrid retrieval, ACM TOIS 2023, on convex combinations.
"""

from collections.abc import Mapping, Sequence

from ragcorp.application.retrieval.fusion.rank_fusion import (
    DEFAULT_RANK_CONSTANT,
    checked_weights,
    fused,
    require_rank_constant,
)
from ragcorp.domain.retrieval import FusedHit, RankedList, ScoreType

ABSOLUTE = frozenset(
    {ScoreType.COSINE_SIMILARITY, ScoreType.HALF_CENTRED_COSINE, ScoreType.EVIDENCE_SHARE, ScoreType.IDENTIFIER_MATCH}
)


class LinearFusionService:
    """Fuses lists by a weighted sum of their scores. Pure and stateless.

    >>> from ragcorp.domain.retrieval import Hit
    >>> dense = RankedList(source='dense', score_type=ScoreType.COSINE_SIMILARITY, hits=(Hit(chunk_id='a', score=0.5),))
    >>> LinearFusionService().fuse([dense], weights={'dense': 2.0})[0].score
    1.0
    """

    def fuse(
        self, lists: Sequence[RankedList], *, weights: Mapping[str, float] | None = None, k: int | None = None
    ) -> Sequence[FusedHit]:
        """Return the union by descending score, ties by key; weights default to 1. Raises as ``RankFusionService``."""
        rank_constant = DEFAULT_RANK_CONSTANT if k is None else k
        require_rank_constant(rank_constant, 1)
        weight_of = checked_weights([ranked.source for ranked in lists], weights or {})

        def summands(ranked: RankedList) -> list[float]:
            weight = weight_of[ranked.source]
            if ranked.score_type in ABSOLUTE:
                return [weight * hit.score for hit in ranked.hits]
            return [weight / (rank_constant + rank) for rank in range(1, len(ranked) + 1)]

        return fused(lists, weight_of, summands)
