"""Reciprocal rank: 1 / rank of the first relevant document, 0 where none is among the first k.

Its mean over queries is MRR@k (Voorhees: The TREC-8 question answering track report, 1999).
"""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.evaluation.judgements import Grades, relevant


def reciprocal_rank(ranking: Sequence[str], grades: Grades, *, depth: int) -> float:
    """Return the reciprocal rank in [0, 1] of a ranking of distinct documents.

    >>> reciprocal_rank(['b', 'a'], {'a': 1}, depth=10)
    0.5
    """
    rank = first_relevant_rank(ranking[:depth], grades)
    return 1 / rank if rank else 0.0


def first_relevant_rank(ranking: Sequence[str], grades: Grades) -> int | None:
    """Return the rank, from 1, of the first relevant document.

    >>> first_relevant_rank(['b', 'a'], {'a': 1})
    2
    """
    wanted = relevant(grades)
    return next((rank for rank, document in enumerate(ranking, start=1) if document in wanted), None)
