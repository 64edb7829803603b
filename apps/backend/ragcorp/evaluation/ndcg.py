"""Normalised discounted cumulative gain.

nDCG@k = DCG@k / DCG@k of the ideal ranking,  DCG@k = sum over ranks r <= k of  grade(r) / log2(r + 1)

Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, TOIS 2002, with the linear gains of trec_eval's
``ndcg_cut``, which BEIR, pytrec_eval and ranx (``ndcg``) report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice

from ragcorp.evaluation.judgements import Grades, gain


def ndcg(ranking: Sequence[str], grades: Grades, *, depth: int) -> float:
    """Return nDCG@``depth`` in [0, 1] of a ranking of distinct documents; 0 for a query without a relevant one.

    >>> round(ndcg(['b', 'a'], {'a': 1}, depth=10), 3)
    0.631
    """
    ideal = _discounted(sorted(map(gain, grades.values()), reverse=True), depth)
    return _discounted((gain(grades.get(document, 0)) for document in ranking), depth) / ideal if ideal else 0.0


def _discounted(gains: Iterable[int], depth: int) -> float:
    return math.fsum(gained / math.log2(rank + 1) for rank, gained in enumerate(islice(gains, depth), start=1))
