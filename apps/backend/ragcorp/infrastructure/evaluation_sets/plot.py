"""Draws reports as bars with their intervals, in SVG."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.evaluation.metrics import NDCG
from ragcorp.evaluation.report import RunReport, Summary
from ragcorp.infrastructure.evaluation_sets.run_files import write_text

ALL = "all"


def plotter() -> Callable[[Path, str, Mapping[str, RunReport]], None]:
    """Return the function that draws. Raises MissingExtraError."""
    if find_spec("pygal") is None:
        raise MissingExtraError(feature="A plot", extra="eval")
    return draw


def draw(path: Path, title: str, reports: Mapping[str, RunReport]) -> None:
    """Write a chart of nDCG@10 by kind, a colour a run. Raises InvalidInputError where the file cannot be written."""
    import pygal

    kinds = sorted({kind for report in reports.values() for kind in report.kinds})
    # js=(): a chart that opens without fetching a script
    chart = pygal.Bar(
        title=title, y_title=NDCG, range=(0, 1), js=(), x_label_rotation=30, value_formatter="{:.3f}".format
    )
    chart.x_labels = [ALL, *kinds]
    for name, report in reports.items():
        chart.add(name, [_bar(report.summary), *(_bar(report.kinds[kind]) for kind in kinds)])
    write_text(path, chart.render(is_unicode=True))


def _bar(summary: Summary) -> dict[str, object]:
    estimate = summary.metrics[NDCG]
    return {"value": estimate.value, "ci": {"low": estimate.low, "high": estimate.high}}
