"""Reports runs over a set: metrics with their intervals, overall and by kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragcorp.evaluation.bootstrap import Difference, Estimate, Resampling, difference, estimate, mean, quantile
from ragcorp.evaluation.metrics import METRICS
from ragcorp.evaluation.runs import Run
from ragcorp.evaluation.sets import EvaluationQuery, EvaluationSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A run and how it came about.

    ``empty`` are the queries for which the run's sparse source (in a run without one: its only source) found
    nothing; ``latencies_ms`` go by query; ``degraded`` counts queries by ``source:reason``.

    >>> Measured(run=Run(name='rrf', rankings={})).empty
    frozenset()
    """

    run: Run
    empty: frozenset[str] = frozenset()
    latencies_ms: Mapping[str, float] = field(default_factory=dict)
    degraded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run over some queries. ``metrics`` go by name; ``empty`` is a share in [0, 1].

    The quantiles of the latency are None where the run was not measured here.

    >>> Summary(queries=1, metrics={}, empty=0.0, p50_ms=None, p95_ms=None).queries
    1
    """

    queries: int
    metrics: Mapping[str, Estimate]
    empty: float
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run over the whole set. ``differences`` go by metric, from the first run of the report to this one.

    >>> summary = Summary(queries=1, metrics={}, empty=0.0, p50_ms=None, p95_ms=None)
    >>> RunReport(summary=summary, kinds={}, differences={}, degraded={}).kinds
    {}
    """

    summary: Summary
    kinds: Mapping[str, Summary]
    differences: Mapping[str, Difference]
    degraded: Mapping[str, int]


def report(
    evaluation_set: EvaluationSet, runs: Sequence[Measured], *, resampling: Resampling
) -> Mapping[str, RunReport]:
    """Return a report of each run, by its name. All are resampled alike, so that their intervals compare.

    >>> evaluation_set = EvaluationSet(
    ...     name='set', passages=[], queries=[EvaluationQuery(id='q1', text='plazo')], qrels={'q1': {'a': 1}}
    ... )
    >>> made = report(evaluation_set, [Measured(run=Run(name='rrf', rankings={}))], resampling=Resampling())
    >>> made['rrf'].summary.metrics['ndcg@10'].value
    0.0
    """
    everything = _summaries(evaluation_set, evaluation_set.queries, runs, resampling)
    kinds = {
        kind: _summaries(evaluation_set, queries, runs, resampling)
        for kind, queries in evaluation_set.by_kind().items()
    }
    first = values(evaluation_set, evaluation_set.queries, runs[0].run) if runs else {}
    return {
        measured.run.name: RunReport(
            summary=everything[at],
            kinds={kind: summaries[at] for kind, summaries in kinds.items()},
            differences=(
                {
                    name: difference(first[name], column, resampling)
                    for name, column in values(evaluation_set, evaluation_set.queries, measured.run).items()
                }
                if at
                else {}
            ),
            degraded=measured.degraded,
        )
        for at, measured in enumerate(runs)
    }


def values(
    evaluation_set: EvaluationSet, queries: Sequence[EvaluationQuery], run: Run
) -> Mapping[str, Sequence[float]]:
    """Return each metric's value by query, in the order of ``queries``.

    >>> evaluation_set = EvaluationSet(name='set', passages=[], queries=[], qrels={})
    >>> sorted(values(evaluation_set, [], Run(name='rrf', rankings={})))
    ['mrr@10', 'ndcg@10', 'recall@10']
    """
    rankings = [run.documents(query.id) for query in queries]
    return {
        name: [
            metric(ranking, evaluation_set.qrels[query.id]) for query, ranking in zip(queries, rankings, strict=True)
        ]
        for name, metric in METRICS.items()
    }


def _summaries(
    evaluation_set: EvaluationSet, queries: Sequence[EvaluationQuery], runs: Sequence[Measured], resampling: Resampling
) -> Sequence[Summary]:
    columns = [column for measured in runs for column in values(evaluation_set, queries, measured.run).values()]
    estimates = iter(
        estimate(column, resampled)
        for column, resampled in zip(columns, resampling.means(columns) if columns else [], strict=True)
    )
    summaries = []
    for measured in runs:
        latencies = [measured.latencies_ms[query.id] for query in queries if query.id in measured.latencies_ms]
        summaries.append(
            Summary(
                queries=len(queries),
                metrics={name: next(estimates) for name in METRICS},
                empty=mean([float(query.id in measured.empty) for query in queries]),
                p50_ms=quantile(latencies, 0.5) if latencies else None,
                p95_ms=quantile(latencies, 0.95) if latencies else None,
            )
        )
    return summaries
