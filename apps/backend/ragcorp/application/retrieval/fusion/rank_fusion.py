"""Reciprocal Rank Fusion.

score(d) = sum over the lists that contain d of  w / (k + rank(d))

Cormack, Clarke, Buettcher: Reciprocal rank fusion outperforms Condorcet and individual rank learning methods,
SIGIR 2009; k = 60 there, ranks from 1.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.retrieval import Contribution, FusedHit, FusedHits, HitKey, RankedList

DEFAULT_RANK_CONSTANT = 60


class RankFusionService:
    """Fuses ranked lists by RRF. Pure and stateless.

    ``k`` >= 0 is the rank constant: the larger, the less the first ranks stand out. ``first_rank`` is the rank of a
    list's best hit: 1 as in the paper, or 0 as in the multi-collection ADR-003. With ``first_rank=0`` k must be > 0.

    >>> from ragcorp.domain.retrieval import Hit, ScoreType
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
    ) -> Sequence[FusedHit]:
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
        first = rank_constant + self._first_rank

        def summands(ranked: RankedList) -> list[float]:
            weight = weight_of[ranked.source]
            return [weight / divisor for divisor in range(first, first + len(ranked))]

        return fused(lists, weight_of, summands, first_rank=self._first_rank)


def fused(
    lists: Sequence[RankedList],
    weights: Mapping[str, float],
    summands: Callable[[RankedList], Sequence[float]],
    *,
    first_rank: int = 1,
) -> FusedHits:
    """Return the union of the lists by the sum of the lists' contributions, descending, ties by the hit's key.

    ``summands(ranked)`` are a list's contributions to its hits; ranks start at ``first_rank``. Metadata is the first
    list's, completed from later ones by the keys that it lacks.

    >>> from ragcorp.domain.retrieval import Hit
    >>> ranked = RankedList(source='dense', score_type='cosine_similarity', hits=(Hit(chunk_id='a', score=0.9),))
    >>> fused([ranked], {'dense': 2.0}, lambda ranked: [2.0])[0].score
    2.0
    """
    parts_of: dict[HitKey, list[tuple[float, RankedList, int]]] = {}
    for ranked in lists:
        for place, (hit, value) in enumerate(zip(ranked.hits, summands(ranked), strict=True)):
            key = hit.key
            parts = parts_of.get(key)
            if parts is None:
                parts_of[key] = [(value, ranked, place)]
            else:
                parts.append((value, ranked, place))
    ranking = sorted(
        [
            (-(math.fsum([value for value, *_ in parts]) if len(parts) > 1 else parts[0][0]), key)
            for key, parts in parts_of.items()
        ]
    )

    def made(entry: tuple[float, HitKey]) -> FusedHit:
        negated, key = entry
        parts = parts_of[key]
        hit = parts[0][1].hits[parts[0][2]]
        for _, ranked, place in parts[1:]:
            further = ranked.hits[place].metadata
            if further.keys() - hit.metadata.keys():
                hit = hit._replace(metadata={**further, **hit.metadata})
        return FusedHit(
            hit=hit,
            score=-negated,
            contributions=tuple(
                [
                    Contribution(
                        source=ranked.source,
                        rank=place + first_rank,
                        score=ranked.hits[place].score,
                        score_type=ranked.score_type,
                        weight=weights[ranked.source],
                        value=value,
                    )
                    for value, ranked, place in parts
                ]
            ),
        )

    return FusedHits(ranking, made)


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
