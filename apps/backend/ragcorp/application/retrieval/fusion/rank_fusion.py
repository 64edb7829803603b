"""Reciprocal Rank Fusion.

score(d) = sum over the lists that contain d of  w / (k + rank(d))

Cormack, Clarke, Buettcher: Reciprocal rank fusion outperforms Condorcet and individual rank learning methods,
SIGIR 2009; k = 60 there, ranks from 1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.retrieval import Contribution, FusedHit, Hit, HitKey, RankedList

DEFAULT_RANK_CONSTANT = 60


class RankFusionService:
    """Fuses ranked lists by RRF. Pure and stateless.

    ``k`` >= 0 is the rank constant: the larger, the less the first ranks stand out. ``first_rank`` is the rank of a
    list's best hit: 1 as in the paper, or 0 as in the multi-collection ADR-003. With ``first_rank=0`` k must be > 0.

    >>> from ragcorp.domain.retrieval import ScoreType
    >>> dense = RankedList(source='dense', score_type=ScoreType.COSINE_SIMILARITY, hits=(Hit(chunk_id='a', score=0.9),))
    >>> text = RankedList(source='full_text', score_type=ScoreType.BM25, hits=(Hit(chunk_id='a', score=7.1),))
    >>> RankFusionService(k=60).fuse([dense, text])[0].score == 2 / 61
    True
    """

    def __init__(self, *, k: int = DEFAULT_RANK_CONSTANT, first_rank: int = 1) -> None:
        require_rank_constant(k, first_rank)
        self._k = k
        self._first_rank = first_rank

    def fuse(
        self, lists: Sequence[RankedList], *, weights: Mapping[str, float] | None = None, k: int | None = None
    ) -> tuple[FusedHit, ...]:
        """Return the union of the lists by descending score, ties by the hit's key; a list's weight defaults to 1.

        A hit's identity is its key. Its metadata is that of the first list that has it, completed from later ones
        by the keys that it lacks. A list in which it is absent contributes nothing. Scores lie in
        [0, sum of weights / (k + first_rank)].

        Raises InvalidInputError for two lists of one source, for a weight that is negative, not finite or names no
        list's source, and for a k out of range.
        """
        rank_constant = self._k if k is None else k
        require_rank_constant(rank_constant, self._first_rank)
        weight_of = checked_weights([ranked.source for ranked in lists], weights or {})
        return fused(
            lists, weight_of, lambda _, rank, weight: weight / (rank_constant + rank), first_rank=self._first_rank
        )


def fused(
    lists: Sequence[RankedList],
    weights: Mapping[str, float],
    summand: Callable[[RankedList, int, float], float],
    *,
    first_rank: int = 1,
) -> tuple[FusedHit, ...]:
    """Return the union of the lists by the sum of the lists' contributions, descending, ties by the hit's key.

    ``summand(ranked, rank, weight)`` is a list's contribution to its hit of that rank; ranks start at ``first_rank``.
    Metadata is the first list's, completed from later ones by the keys that it lacks.

    >>> ranked = RankedList(source='dense', score_type='cosine_similarity', hits=(Hit(chunk_id='a', score=0.9),))
    >>> fused([ranked], {'dense': 2.0}, lambda ranked, rank, weight: weight / rank)[0].score
    2.0
    """
    first_seen: dict[HitKey, Hit] = {}
    parts_of: dict[HitKey, list[Contribution]] = {}
    for ranked in lists:
        weight = weights[ranked.source]
        for rank, hit in enumerate(ranked.hits, start=first_rank):
            part = Contribution(
                source=ranked.source,
                rank=rank,
                score=hit.score,
                score_type=ranked.score_type,
                weight=weight,
                value=summand(ranked, rank, weight),
            )
            key = hit.key
            seen = first_seen.get(key)
            if seen is None:
                first_seen[key] = hit
                parts_of[key] = [part]
                continue
            parts_of[key].append(part)
            if hit.metadata.keys() - seen.metadata.keys():
                first_seen[key] = replace(seen, metadata={**hit.metadata, **seen.metadata})
    ranking = sorted((-math.fsum([part.value for part in parts]), key) for key, parts in parts_of.items())
    return tuple(
        [FusedHit(hit=first_seen[key], score=-negated, contributions=tuple(parts_of[key])) for negated, key in ranking]
    )


def require_rank_constant(k: int, first_rank: int) -> None:
    """Raises InvalidInputError.

    >>> require_rank_constant(60, first_rank=1)
    """
    if first_rank not in (0, 1):
        raise InvalidInputError("first_rank must be 0 or 1.", field="first_rank", limit="0 or 1")
    if isinstance(k, bool) or not isinstance(k, int) or k < 0 or k + first_rank <= 0:
        raise InvalidInputError(
            "The rank constant k must be a whole number above 0, or 0 where ranks start at 1.",
            field="rank_constant",
            remedy="Leave it at 60 unless an evaluation says otherwise.",
        )


def checked_weights(sources: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weight of each list, default 1. Raises InvalidInputError.

    >>> checked_weights(['dense', 'full_text'], {'dense': 2})
    {'dense': 2.0, 'full_text': 1.0}
    """
    if len(set(sources)) != len(sources):
        raise InvalidInputError("Two ranked lists have the same source.", field="source")
    unknown = weights.keys() - set(sources)
    if unknown:
        raise InvalidInputError("A weight names a source that gave no list.", field="weights")
    for weight in weights.values():
        if not math.isfinite(weight) or weight < 0:
            raise InvalidInputError("A weight must be a finite number from 0 up.", field="weights")
    return {source: float(weights.get(source, 1.0)) for source in sources}
