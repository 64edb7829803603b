"""Runs: what a way of searching returned for each query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class RankedDocument(NamedTuple):
    """A document of a ranking and its score (higher is better)."""

    document: str
    score: float


Ranking = tuple[RankedDocument, ...]
"""Documents, best first, none twice. The order is the ranking: scores may tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Rankings by query. A query without one found nothing."""

    name: str
    rankings: Mapping[str, Ranking]

    def documents(self, query: str) -> tuple[str, ...]:
        return tuple(ranked.document for ranked in self.rankings.get(query, ()))


def best_passages(passages: Iterable[RankedDocument]) -> Ranking:
    """Return the ranking of documents of a ranking of their passages: each stands where its best passage stands."""
    best: dict[str, RankedDocument] = {}
    for passage in passages:
        best.setdefault(passage.document, passage)
    return tuple(best.values())
