"""Two runs over the same queries: the paired difference, and the queries that gained and lost most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragcorp.evaluation.bootstrap import Difference, Resampling, difference
from ragcorp.evaluation.metrics import NDCG, first_relevant_rank
from ragcorp.evaluation.report import values
from ragcorp.evaluation.runs import Run
from ragcorp.evaluation.sets import EvaluationQuery, EvaluationSet

MOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryChange:
    """A query's nDCG in both runs, and the rank of its first relevant document (None: not found).

    >>> query = EvaluationQuery(id='q1', text='plazo')
    >>> QueryChange(query=query, before=0.5, after=1.0, rank_before=2, rank_after=1).change
    0.5
    """

    query: EvaluationQuery
    before: float
    after: float
    rank_before: int | None
    rank_after: int | None

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What changes from run ``a`` to run ``b``: differences by metric, those of nDCG by kind, and the largest ones.

    >>> Comparison(a='rrf', b='linear', queries=0, differences={}, kinds={}, gained=[], lost=[]).b
    'linear'
    """

    a: str
    b: str
    queries: int
    differences: Mapping[str, Difference]
    kinds: Mapping[str, tuple[int, Difference]]
    gained: Sequence[QueryChange]
    lost: Sequence[QueryChange]


def compare(evaluation_set: EvaluationSet, a: Run, b: Run, *, resampling: Resampling, most: int = MOST) -> Comparison:
    """Compare two runs; up to ``most`` queries of each direction, the largest change first, ties by query id.

    >>> from ragcorp.evaluation.runs import RankedDocument
    >>> evaluation_set = EvaluationSet(
    ...     name='set', passages=[], queries=[EvaluationQuery(id='q1', text='plazo')], qrels={'q1': {'a': 1}}
    ... )
    >>> found = Run(name='b', rankings={'q1': (RankedDocument('a', 1.0),)})
    >>> compare(evaluation_set, Run(name='a', rankings={}), found, resampling=Resampling()).gained[0].change
    1.0
    """
    queries = evaluation_set.queries
    before, after = values(evaluation_set, queries, a), values(evaluation_set, queries, b)
    changes = [
        QueryChange(
            query=query,
            before=was,
            after=now,
            rank_before=first_relevant_rank(a.documents(query.id), evaluation_set.qrels[query.id]),
            rank_after=first_relevant_rank(b.documents(query.id), evaluation_set.qrels[query.id]),
        )
        for query, was, now in zip(queries, before[NDCG], after[NDCG], strict=True)
    ]
    ordered = sorted(changes, key=lambda change: (-abs(change.change), change.query.id))
    return Comparison(
        a=a.name,
        b=b.name,
        queries=len(queries),
        differences={name: difference(before[name], after[name], resampling) for name in before},
        kinds={
            kind: (
                len(members),
                difference(
                    values(evaluation_set, members, a)[NDCG], values(evaluation_set, members, b)[NDCG], resampling
                ),
            )
            for kind, members in evaluation_set.by_kind().items()
        },
        gained=[change for change in ordered if change.change > 0][:most],
        lost=[change for change in ordered if change.change < 0][:most],
    )
