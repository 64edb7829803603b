"""Recall@k = relevant documents among the first k / relevant documents."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.evaluation.judgements import Grades, relevant


def recall(ranking: Sequence[str], grades: Grades, *, depth: int) -> float:
    """Return Recall@``depth`` in [0, 1] of a ranking of distinct documents; 0 for a query without a relevant one.

    >>> recall(['a', 'c'], {'a': 1, 'b': 1}, depth=10)
    0.5
    """
    wanted = relevant(grades)
    return len(wanted.intersection(ranking[:depth])) / len(wanted) if wanted else 0.0
