"""The metrics that are reported, by name.

Recall@k = relevant documents among the first k / relevant documents

nDCG@k = DCG@k / DCG@k of the ideal ranking,  DCG@k = sum over ranks r <= k of  grade(r) / log2(r + 1)

Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, TOIS 2002, with the linear gains of trec_eval's
``ndcg_cut``, which BEIR, pytrec_eval and ranx (``ndcg``) report.

Reciprocal rank = 1 / rank of the first relevant document, 0 where none is among the first k; its mean over queries is
MRR@k (Voorhees: The TREC-8 question answering track report, 1999).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

from ragcorp.evaluation.sets import Grades, gain, relevant


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
    targets = relevant(grades)
    return next((rank for rank, document in enumerate(ranking, start=1) if document in targets), None)


def ndcg(ranking: Sequence[str], grades: Grades, *, depth: int) -> float:
    """Return nDCG@``depth`` in [0, 1] of a ranking of distinct documents; 0 for a query without a relevant one.

    >>> round(ndcg(['b', 'a'], {'a': 1}, depth=10), 3)
    0.631
    """
    ideal = _discounted(sorted(map(gain, grades.values()), reverse=True), depth)
    return _discounted((gain(grades.get(document, 0)) for document in ranking), depth) / ideal if ideal else 0.0


def _discounted(gains: Iterable[int], depth: int) -> float:
    return math.fsum(gained / math.log2(rank + 1) for rank, gained in enumerate(islice(gains, depth), start=1))


def recall(ranking: Sequence[str], grades: Grades, *, depth: int) -> float:
    """Return Recall@``depth`` in [0, 1] of a ranking of distinct documents; 0 for a query without a relevant one.

    >>> recall(['a', 'c'], {'a': 1, 'b': 1}, depth=10)
    0.5
    """
    targets = relevant(grades)
    return len(targets.intersection(ranking[:depth])) / len(targets) if targets else 0.0


DEPTH = 10
NDCG, RECALL, MRR = f"ndcg@{DEPTH}", f"recall@{DEPTH}", f"mrr@{DEPTH}"

METRICS: Mapping[str, Callable[[Sequence[str], Grades], float]] = {
    NDCG: partial(ndcg, depth=DEPTH),
    RECALL: partial(recall, depth=DEPTH),
    MRR: partial(reciprocal_rank, depth=DEPTH),
}
"""The value in [0, 1] of one query's ranking of distinct documents, by the metric's name."""
