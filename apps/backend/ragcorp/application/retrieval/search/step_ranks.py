"""Adds to explained hits their rank before and after each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.requests import SearchHit


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOrder:
    """The window's order before and after an applied step."""

    step: str
    before: tuple[HitKey, ...]
    after: tuple[HitKey, ...]


def with_ranks(hits: Sequence[SearchHit], orders: Sequence[StepOrder]) -> tuple[SearchHit, ...]:
    """Return the hits with ``rank_before`` and ``rank_after`` (from 1) in the note of each step, in the steps' order.

    Other notes follow unchanged.
    """
    ranks = [(order.step, _ranks(order.before), _ranks(order.after)) for order in orders]
    return tuple(replace(hit, steps=_noted(hit, ranks)) for hit in hits)


def _ranks(keys: Sequence[HitKey]) -> Mapping[HitKey, int]:
    return {key: rank for rank, key in enumerate(keys, start=1)}


def _noted(
    hit: SearchHit, ranks: Sequence[tuple[str, Mapping[HitKey, int], Mapping[HitKey, int]]]
) -> dict[str, Mapping[str, object]]:
    key = hit.chunk.key
    noted: dict[str, Mapping[str, object]] = {
        step: {**hit.steps.get(step, {}), "rank_before": before[key], "rank_after": after[key]}
        for step, before, after in ranks
    }
    return noted | {step: note for step, note in hit.steps.items() if step not in noted}
