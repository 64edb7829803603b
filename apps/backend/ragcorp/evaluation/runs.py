"""Runs: what a way of searching returned for each query."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class RankedDocument(NamedTuple):
    """A document of a ranking and its score (higher is better).

    >>> RankedDocument('contrato.md', 0.9).document
    'contrato.md'
    """

    document: str
    score: float


Ranking = tuple[RankedDocument, ...]
"""Documents, best first, none twice. The order is the ranking: scores may tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Rankings by query. A query without one found nothing.

    >>> Run(name='rrf', rankings={'q1': (RankedDocument('a', 1.0),)}).documents('q1')
    ('a',)
    """

    name: str
    rankings: Mapping[str, Ranking]

    def documents(self, query: str) -> tuple[str, ...]:
        return tuple(ranked.document for ranked in self.rankings.get(query, ()))


def best_passages(passages: Iterable[RankedDocument]) -> Ranking:
    """Return the ranking of documents of a ranking of their passages: each has the place of its best passage.

    >>> best_passages([RankedDocument('a', 2.0), RankedDocument('a', 1.0)])
    (RankedDocument(document='a', score=2.0),)
    """
    best: dict[str, RankedDocument] = {}
    for passage in passages:
        best.setdefault(passage.document, passage)
    return tuple(best.values())
