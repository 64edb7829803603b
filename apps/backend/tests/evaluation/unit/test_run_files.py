"""Saved runs and TREC runs: what is written is what is read."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.exceptions import InvalidInputError, NotFoundError
from ragcorp.evaluation.runs import RankedDocument, Run
from ragcorp.infrastructure.evaluation_sets.run_files import read_run, require_writable, save_runs, write_trec

ONE = Run(name="one", rankings={"q1": (RankedDocument("ñ a", 0.5), RankedDocument("b", 0.5)), "q2": ()})
TWO = Run(name="two", rankings={"q1": (RankedDocument("b", -1.0),)})


def test_a_saved_run_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "runs.json"
    save_runs(path, [ONE, TWO], "set")
    assert read_run(path, "one") == ONE
    assert read_run(path, "two") == TWO


def test_a_file_of_one_run_needs_no_name(tmp_path: Path) -> None:
    save_runs(tmp_path / "runs.json", [TWO], "set")
    assert read_run(tmp_path / "runs.json") == TWO


@pytest.mark.parametrize("name", [None, "three"])
def test_several_runs_need_the_name_of_one(tmp_path: Path, name: str | None) -> None:
    save_runs(tmp_path / "runs.json", [ONE, TWO], "set")
    with pytest.raises(InvalidInputError) as error:
        read_run(tmp_path / "runs.json", name)
    assert error.value.limit == "one, two"


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"format": "other", "runs": {}}', '{"format": "ragcorp-runs-1"}',
     '{"format": "ragcorp-runs-1", "runs": {"one": {"q1": [["a", 1.0], ["a", 0.5]]}}}'],
    ids=["empty", "a list", "another format", "no runs", "a document twice"],
)  # fmt: skip
def test_what_is_no_file_of_runs_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "runs.json").write_text(content)
    with pytest.raises(InvalidInputError, match="no file of runs"):
        read_run(tmp_path / "runs.json")


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    for name in ("none.json", "none.trec"):
        with pytest.raises(NotFoundError):
            read_run(tmp_path / name)


def single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


@given(st.lists(st.floats(-100, 100), max_size=20))
def test_scores_of_a_trec_run_fall_strictly_in_single_precision(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float]
) -> None:
    ranking = tuple(RankedDocument(f"d{at}", score) for at, score in enumerate(sorted(scores, reverse=True)))
    (path,) = write_trec(tmp_path_factory.mktemp("trec"), [Run(name="run", rankings={"q": ranking})])
    rows = [line.split() for line in path.read_text().splitlines()]
    assert [(row[0], row[1], row[2], row[3], row[5]) for row in rows] == [
        ("q", "Q0", ranked.document, str(rank), "run") for rank, ranked in enumerate(ranking, start=1)
    ]
    written = [single(float(row[4])) for row in rows]
    assert all(above > below for above, below in pairwise(written))
    assert all(single(now) == pytest.approx(was.score, abs=1e-4) for now, was in zip(written, ranking, strict=True))
    assert read_run(path).documents("q") == tuple(ranked.document for ranked in ranking)


def test_a_trec_run_of_another_tool_goes_by_score_then_rank(tmp_path: Path) -> None:
    path = tmp_path / "their.run"
    path.write_text("q2 Q0 z 0 1 tag\nq1 Q0 b 2 0.5 tag\nq1 Q0 c 3 0.9 tag\nq1 Q0 a 1 0.5 tag\n")
    run = read_run(path)
    assert run.documents("q1") == ("c", "a", "b")
    assert run.documents("q2") == ("z",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q1 Q0 b 2 0.5", "is none of a TREC run"),
        ("q1 Q0 b second 0.5 tag", "is none of a TREC run"),
        ("q1 Q0 b 2 nan tag", "is none of a TREC run"),
        ("q1 Q0 a 2 0.5 tag", "ranks a document again"),
    ],
)
def test_a_bad_line_of_a_trec_run_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "x.trec").write_text(f"q1 Q0 a 1 0.9 tag\n{line}\n")
    with pytest.raises(InvalidInputError, match=rf"x\.trec, line 2 {said}"):
        read_run(tmp_path / "x.trec")


def test_an_id_with_a_blank_fits_no_trec_run(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="white space"):
        write_trec(tmp_path, [ONE])


def test_a_place_that_cannot_be_written_is_found_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    require_writable(tmp_path / "new" / "runs.json")
    assert not (tmp_path / "new" / "runs.json").exists()
    for path in (tmp_path, tmp_path / "file" / "runs.json"):
        with pytest.raises(InvalidInputError):
            require_writable(path)
