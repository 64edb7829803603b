"""Output of `ragcorp eval`."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from ragcorp.evaluation.bootstrap import Difference, Estimate
from ragcorp.evaluation.calibration import Calibration
from ragcorp.evaluation.comparison import Comparison, QueryChange
from ragcorp.evaluation.metrics import METRICS, NDCG
from ragcorp.evaluation.report import RunReport, Summary
from ragcorp.evaluation.sets import EvaluationSet
from ragcorp.interface.cli.console.output import plain, print_line, print_table

DIGITS = 6
COLUMNS = (*METRICS, "empty", "p50 ms", "p95 ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    evaluation_set: EvaluationSet
    reports: Mapping[str, RunReport]
    comparison: Comparison | None
    calibration: Calibration | None


def evaluation_document(evaluated: Evaluated, conditions: Mapping[str, object]) -> dict[str, object]:
    """Return the JSON document; ``conditions`` are the options of the run. Latencies are in milliseconds."""
    kinds: dict[str, dict[str, object]] = {}
    for name, report in evaluated.reports.items():
        for kind, summary in report.kinds.items():
            kinds.setdefault(kind, {})[name] = {
                **_summary(summary),
                "interval": _interval(summary.metrics[NDCG]),
                "intervals": _intervals(summary),
            }
    first = next(iter(evaluated.reports), None)
    return {
        "set": evaluated.evaluation_set.name,
        "documents": len(evaluated.evaluation_set.passages),
        "queries": len(evaluated.evaluation_set.queries),
        **conditions,
        "runs": {name: _run(report, first) for name, report in evaluated.reports.items()},
        "kinds": kinds,
        "comparison": evaluated.comparison and _comparison(evaluated.comparison),
        "calibration": evaluated.calibration and _calibration(evaluated.calibration),
    }


def _run(report: RunReport, first: str | None) -> dict[str, object]:
    return {
        **_summary(report.summary),
        "interval": _intervals(report.summary),
        "degraded": dict(report.degraded),
        "difference": (
            {"to": first, **{name: _difference(value) for name, value in report.differences.items()}}
            if report.differences
            else None
        ),
    }


def _summary(summary: Summary) -> dict[str, object]:
    return {
        "queries": summary.queries,
        **{name: _rounded(estimate.value) for name, estimate in summary.metrics.items()},
        "empty": _rounded(summary.empty),
        "latency_ms": {"p50": _rounded(summary.p50_ms), "p95": _rounded(summary.p95_ms)},
    }


def _intervals(summary: Summary) -> dict[str, list[float]]:
    return {name: _interval(estimate) for name, estimate in summary.metrics.items()}


def _interval(estimate: Estimate) -> list[float]:
    return [round(estimate.low, DIGITS), round(estimate.high, DIGITS)]


def _difference(value: Difference) -> dict[str, object]:
    return {"value": _rounded(value.value), "interval": _interval(value), "p": _rounded(value.p)}


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "a": comparison.a,
        "b": comparison.b,
        "queries": comparison.queries,
        **{name: _difference(value) for name, value in comparison.differences.items()},
        "kinds": {
            kind: {"queries": queries, **_difference(value)} for kind, (queries, value) in comparison.kinds.items()
        },
        "gained": [_change(change) for change in comparison.gained],
        "lost": [_change(change) for change in comparison.lost],
    }


def _change(change: QueryChange) -> dict[str, object]:
    return {
        "query": change.query.id,
        "text": change.query.text,
        "kind": change.query.kind or None,
        "a": _rounded(change.before),
        "b": _rounded(change.after),
        "rank_a": change.rank_before,
        "rank_b": change.rank_after,
    }


def _calibration(calibration: Calibration) -> dict[str, object]:
    return {
        "evidence_weight": _rounded(calibration.evidence_weight),
        "identifier_weight": _rounded(calibration.identifier_weight),
        "deviation": _rounded(calibration.deviation),
        "distance_threshold": calibration.distance_threshold,
        "queries": calibration.queries,
        "passages": calibration.passages,
        "stored": calibration.is_reliable,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def print_evaluation(console: Console, evaluated: Evaluated) -> None:
    evaluation_set = evaluated.evaluation_set
    print_line(
        console,
        f"{evaluation_set.name}: {len(evaluation_set.passages):,} passages, {len(evaluation_set.queries):,} "
        "queries. Brackets: 95 % intervals, paired bootstrap over queries.",
    )
    if evaluated.reports:
        columns = ("run", f"{NDCG} - first run", *COLUMNS)
        print_table(console, columns, (_run_row(name, report) for name, report in evaluated.reports.items()))
    if any(report.kinds for report in evaluated.reports.values()):
        console.print(_kinds_table(evaluated.reports))
    for name, report in evaluated.reports.items():
        for reason, queries in sorted(report.degraded.items()):
            print_line(console, f"{name}: degraded in {queries:,} queries ({reason})", style="yellow")
    if evaluated.comparison:
        _print_comparison(console, evaluated.comparison)
    if evaluated.calibration:
        calibration = evaluated.calibration
        print_line(
            console,
            f"Linear fusion: w = {calibration.evidence_weight:.4f}, a = {calibration.identifier_weight:.4f} "
            f"(cosines of a query deviate by {calibration.deviation:.4f}; {calibration.queries:,} queries, "
            f"{calibration.passages:,} passages)"
            f"{'' if calibration.is_reliable else '; not stored: too few for the model'}",
        )
        distance = calibration.distance_threshold
        print_line(
            console,
            "Distance threshold: too few relevant passages to tell."
            if distance is None
            else f"Distance threshold: {distance:.3f} (99 % of the relevant among the ten nearest are below)",
        )


def _run_row(name: str, report: RunReport) -> tuple[str, ...]:
    change = report.differences.get(NDCG)
    return name, _signed(change) if change else "", *_cells(report.summary)


def _kinds_table(reports: Mapping[str, RunReport]) -> Table:
    table = Table("kind", "queries", "run", *COLUMNS)
    for kind in next(iter(reports.values())).kinds:
        for name, report in reports.items():
            summary = report.kinds[kind]
            table.add_row(plain(kind), str(summary.queries), plain(name), *_cells(summary))
        table.add_section()
    return table


def _cells(summary: Summary) -> list[str]:
    """Return the metrics with their intervals, the share of empty lists and the latencies."""
    return [
        *(f"{estimate.value:.4f} [{estimate.low:.3f}, {estimate.high:.3f}]" for estimate in summary.metrics.values()),
        f"{summary.empty:.1%}",
        *("" if latency is None else f"{latency:.1f}" for latency in (summary.p50_ms, summary.p95_ms)),
    ]


def _print_comparison(console: Console, comparison: Comparison) -> None:
    print_line(console, f"From {comparison.a} to {comparison.b}, paired over {comparison.queries:,} queries:")
    rows = [("all", comparison.queries, metric, value) for metric, value in comparison.differences.items()]
    rows += [(kind, queries, NDCG, value) for kind, (queries, value) in comparison.kinds.items()]
    print_table(
        console,
        ("queries", "n", "metric", "difference", "p"),
        ((*row, _signed(value), f"{value.p:.3f}") for *row, value in rows),
    )
    for title, changes in (("gained", comparison.gained), ("lost", comparison.lost)):
        if changes:
            columns = (f"{title} most", "kind", NDCG, "first relevant at", "text")
            print_table(console, columns, map(_change_row, changes))


def _change_row(change: QueryChange) -> tuple[str, ...]:
    return (
        change.query.id,
        change.query.kind,
        f"{change.before:.3f} > {change.after:.3f}",
        f"{change.rank_before or '-'} > {change.rank_after or '-'}",
        change.query.text,
    )


def _signed(value: Difference) -> str:
    return f"{value.value:+.4f} [{value.low:+.3f}, {value.high:+.3f}]"
