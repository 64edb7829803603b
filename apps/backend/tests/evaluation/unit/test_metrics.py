"""The metrics: worked by hand, and against ranx."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.evaluation.metrics import METRICS, first_relevant_rank, ndcg, recall, reciprocal_rank
from ragcorp.evaluation.runs import RankedDocument, Run, best_passages
from ragcorp.infrastructure.evaluation_sets.run_files import write_trec

DOCUMENTS = [f"d{number}" for number in range(25)]


def test_ndcg_worked_by_hand() -> None:
    grades = {"a": 2, "b": 1, "c": 1}
    ideal = 2 / 1 + 1 / math.log2(3) + 1 / 2
    assert ndcg(["b", "x", "a"], grades, depth=10) == pytest.approx((1 / 1 + 2 / 2) / ideal)
    assert ndcg(["a", "b", "c"], grades, depth=10) == 1.0
    assert ndcg(["a", "c", "b"], grades, depth=10) == 1.0


def test_ndcg_has_linear_gains() -> None:
    # exponential gains would give (1 + 3 / log2(3)) / (3 + 1 / log2(3))
    assert ndcg(["b", "a"], {"a": 2, "b": 1}, depth=10) == pytest.approx(
        (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)), abs=1e-12
    )


def test_ndcg_cuts_ranking_and_ideal_at_the_depth() -> None:
    grades = {"a": 1, "b": 1, "c": 1}
    assert ndcg(["x", "a", "b"], grades, depth=2) == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))


def test_grades_below_zero_gain_nothing() -> None:
    assert ndcg(["bad", "a"], {"a": 1, "bad": -2}, depth=10) == pytest.approx(1 / math.log2(3))
    assert recall(["bad"], {"a": 1, "bad": -2}, depth=10) == 0.0
    assert reciprocal_rank(["bad", "a"], {"a": 1, "bad": 0}, depth=10) == 0.5


def test_recall_and_reciprocal_rank_worked_by_hand() -> None:
    grades = {"a": 2, "b": 1, "c": 0, "d": 1}
    assert recall(["x", "a", "c", "b"], grades, depth=3) == pytest.approx(1 / 3)
    assert recall(["x", "a", "c", "b"], grades, depth=4) == pytest.approx(2 / 3)
    assert reciprocal_rank(["x", "c", "b", "a"], grades, depth=10) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "c", "b"], grades, depth=2) == 0.0
    assert first_relevant_rank(["x", "c"], grades) is None


@pytest.mark.parametrize("name", METRICS)
def test_a_query_without_relevant_documents_is_worth_nothing(name: str) -> None:
    assert METRICS[name](["a", "b"], {}) == 0.0
    assert METRICS[name](["a", "b"], {"a": 0}) == 0.0
    assert METRICS[name]([], {"a": 1}) == 0.0


def test_a_document_stands_where_its_best_passage_stands() -> None:
    passages = [("b", 0.9), ("a", 0.8), ("b", 0.7), ("c", 0.6), ("a", 0.5)]
    ranking = best_passages(RankedDocument(*passage) for passage in passages)
    assert ranking == (("b", 0.9), ("a", 0.8), ("c", 0.6))


@given(
    judged=st.lists(
        st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), max_size=12), min_size=1, max_size=4
    ),
    found=st.lists(st.lists(st.tuples(st.sampled_from(DOCUMENTS), st.integers(0, 5)), max_size=40), min_size=4),
)
def test_metrics_agree_with_ranx(
    tmp_path_factory: pytest.TempPathFactory, judged: list[dict[str, int]], found: list[list[tuple[str, int]]]
) -> None:
    """Several passages a document, ties, unjudged documents; by way of the TREC file, in which ties must not move."""
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # compiling ranx takes minutes on a busy machine, our runs none
    ranx = pytest.importorskip("ranx")
    qrels = {f"q{number}": grades for number, grades in enumerate(judged)}
    rankings = {
        query: best_passages(
            RankedDocument(document, float(score)) for document, score in sorted(passages, key=lambda item: -item[1])
        )
        for query, passages in zip(qrels, found, strict=False)
    }
    run = Run(name="run", rankings=rankings)
    # ranx knows no query without judgements or results: those are worth 0, which other tests show
    common = [query for query, grades in qrels.items() if grades and rankings[query]]
    if not common:
        return
    (path,) = write_trec(tmp_path_factory.mktemp("trec"), [Run(name="run", rankings={q: rankings[q] for q in common})])
    oracle_qrels = ranx.Qrels({query: dict(qrels[query]) for query in common})
    oracle = ranx.Run.from_file(str(path), kind="trec")
    for name, metric in METRICS.items():
        expected = ranx.evaluate(oracle_qrels, oracle, name, return_mean=False)
        by_query = dict(zip(sorted(common), expected, strict=True))
        for query in common:
            assert metric(run.documents(query), qrels[query]) == pytest.approx(by_query[query], abs=1e-12)


def test_the_trec_file_is_written_where_it_is_told(tmp_path: Path) -> None:
    run = Run(name="linear:full_text=0.1", rankings={"q1": (RankedDocument("a", 2.5), RankedDocument("b", 1.0))})
    (path,) = write_trec(tmp_path / "new", [run])
    assert path.name == "linear_full_text=0.1.trec"
    assert path.read_text() == "q1 Q0 a 1 2.5 linear_full_text=0.1\nq1 Q0 b 2 1.0 linear_full_text=0.1\n"
