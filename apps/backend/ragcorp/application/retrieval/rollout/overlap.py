"""How far two rankings agree at their heads.

overlap@k(A, B) = |A[:k] ∩ B[:k]| / max(|A[:k]|, |B[:k]|), and 1 where both are empty

That is the agreement at depth k of Webber, Moffat, Zobel: A similarity measure for indefinite rankings, TOIS 28(4),
2010, with the longer head in place of k: two equal lists that are shorter than k agree wholly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragcorp.domain.exceptions import InvalidInputError


class RankChange(NamedTuple):
    """A passage whose rank differs; ranks start at 1, None is outside the head."""

    identity: str
    old: int | None
    new: int | None

    def __str__(self) -> str:
        return f"{self.identity}:{self.old or '-'}>{self.new or '-'}"


def overlap_at(k: int, old: Sequence[str], new: Sequence[str]) -> float:
    """Return overlap@k in [0, 1]; order within the heads does not count. Raises InvalidInputError."""
    first, second = _ranks(k, old), _ranks(k, new)
    longer = max(len(first), len(second))
    return len(first.keys() & second.keys()) / longer if longer else 1.0


def rank_changes(k: int, old: Sequence[str], new: Sequence[str]) -> tuple[RankChange, ...]:
    """Return what moved, came or went in the first k, by its better rank, then the old one. Raises InvalidInputError.

    It is empty exactly where the heads are equal.
    """
    first, second = _ranks(k, old), _ranks(k, new)
    changes = [
        RankChange(identity, first.get(identity), second.get(identity))
        for identity in first | second
        if first.get(identity) != second.get(identity)
    ]
    outside = k + 1
    return tuple(
        sorted(
            changes,
            key=lambda change: (
                min(change.old or outside, change.new or outside),
                change.old or outside,
                change.identity,
            ),
        )
    )


def _ranks(k: int, ranking: Sequence[str]) -> dict[str, int]:
    if k < 1:
        raise InvalidInputError("The depth of a comparison starts at 1.", field="k")
    head = ranking[:k]
    ranks = {identity: rank for rank, identity in enumerate(head, start=1)}
    if len(ranks) != len(head):
        raise InvalidInputError("A ranking holds a passage twice.", field="ranking")
    return ranks
