"""The metrics that are reported, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from ragcorp.evaluation.judgements import Grades
from ragcorp.evaluation.ndcg import ndcg
from ragcorp.evaluation.recall import recall
from ragcorp.evaluation.reciprocal_rank import reciprocal_rank

DEPTH = 10
NDCG, RECALL, MRR = f"ndcg@{DEPTH}", f"recall@{DEPTH}", f"mrr@{DEPTH}"


class Metric(Protocol):
    """The value in [0, 1] of one query's ranking of distinct documents.

    >>> METRICS[MRR](['b', 'a'], {'a': 1})
    0.5
    """

    def __call__(self, ranking: Sequence[str], grades: Grades) -> float: ...


METRICS: Mapping[str, Metric] = {
    NDCG: partial(ndcg, depth=DEPTH),
    RECALL: partial(recall, depth=DEPTH),
    MRR: partial(reciprocal_rank, depth=DEPTH),
}
