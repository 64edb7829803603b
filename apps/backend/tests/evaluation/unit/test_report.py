"""Reports and comparisons of runs over a small set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.evaluation.bootstrap import Resampling
from ragcorp.evaluation.comparison import compare
from ragcorp.evaluation.report import Measured, report
from ragcorp.evaluation.runs import RankedDocument, Run
from ragcorp.evaluation.sets import EvaluationQuery, EvaluationSet, Passage, judged

FEW = Resampling(resamples=200, seed=1)

SET = EvaluationSet(
    name="tiny",
    passages=[Passage(id=name, title="", text=name) for name in "abc"],
    queries=[
        EvaluationQuery(id="q1", text="one", kind="id"),
        EvaluationQuery(id="q2", text="two", kind="word"),
        EvaluationQuery(id="q3", text="three", kind="word"),
    ],
    qrels={"q1": {"a": 1}, "q2": {"b": 2}, "q3": {"c": 1}},
)
SECOND = 1 / math.log2(3)


def run(name: str, rankings: Mapping[str, Sequence[str]]) -> Run:
    return Run(
        name=name,
        rankings={
            query: tuple(RankedDocument(document, 1 / rank) for rank, document in enumerate(documents, start=1))
            for query, documents in rankings.items()
        },
    )


BEFORE = run("before", {"q1": ["a"], "q2": ["a", "b"], "q3": ["a", "b"]})
AFTER = run("after", {"q1": ["b", "a"], "q2": ["b", "a"], "q3": ["c"]})


def test_a_report_has_means_kinds_and_what_was_measured_beside() -> None:
    measured = Measured(
        run=BEFORE,
        empty=frozenset({"q3"}),
        latencies_ms={"q1": 9.0, "q2": 1.0, "q3": 2.0},
        degraded={"dense:timeout": 1},
    )
    reports = report(SET, [measured, Measured(run=AFTER)], resampling=FEW)
    assert list(reports) == ["before", "after"]
    before, after = reports.values()
    assert before.summary.metrics["ndcg@10"].value == pytest.approx((1 + SECOND + 0) / 3)
    assert before.summary.metrics["mrr@10"].value == pytest.approx((1 + 0.5 + 0) / 3)
    assert before.summary.metrics["recall@10"].value == pytest.approx(2 / 3)
    assert before.summary.empty == pytest.approx(1 / 3)
    assert (before.summary.p50_ms, before.summary.p95_ms) == (2.0, pytest.approx(8.3))
    assert before.degraded == {"dense:timeout": 1}
    assert list(before.kinds) == ["id", "word"]
    assert (before.kinds["word"].queries, before.kinds["word"].empty, before.kinds["word"].p50_ms) == (2, 0.5, 1.5)
    assert before.kinds["word"].metrics["ndcg@10"].value == pytest.approx(SECOND / 2)
    assert (after.summary.p50_ms, after.summary.empty) == (None, 0.0)


def test_differences_are_from_the_first_run() -> None:
    before, after = report(SET, [Measured(run=BEFORE), Measured(run=AFTER)], resampling=FEW).values()
    assert before.differences == {}
    assert after.differences["ndcg@10"].value == pytest.approx((SECOND - 1 + 1 - SECOND + 1) / 3)


def test_a_run_without_a_ranking_found_nothing() -> None:
    (only,) = report(SET, [Measured(run=run("none", {}))], resampling=FEW).values()
    assert {estimate.value for estimate in only.summary.metrics.values()} == {0.0}


def test_no_run_gives_no_report() -> None:
    assert report(SET, [], resampling=FEW) == {}


def test_a_comparison_names_the_queries_that_changed_most() -> None:
    result = compare(SET, BEFORE, AFTER, resampling=FEW)
    assert [change.query.id for change in result.gained] == ["q3", "q2"]
    assert [change.query.id for change in result.lost] == ["q1"]
    third, second = result.gained
    assert (third.before, third.after, third.rank_before, third.rank_after) == (0.0, 1.0, None, 1)
    assert (second.rank_before, second.rank_after) == (2, 1)
    assert result.kinds["id"][0] == 1
    assert result.kinds["id"][1].value == pytest.approx(SECOND - 1)
    assert result.differences["recall@10"].value == pytest.approx(1 / 3)


def test_a_comparison_shows_as_many_as_asked_for() -> None:
    assert [item.query.id for item in compare(SET, BEFORE, AFTER, resampling=FEW, most=1).gained] == ["q3"]


def test_a_sample_takes_each_nth_query() -> None:
    assert [query.id for query in SET.every(2).queries] == ["q1", "q3"]
    with pytest.raises(InvalidInputError):
        SET.every(0)


def test_only_queries_with_a_relevant_document_are_measured() -> None:
    assert [query.id for query in judged(SET.queries, {"q1": {"a": 0}, "q2": {"b": 1}})] == ["q2"]
