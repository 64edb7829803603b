"""Evaluation sets in files: what is read, and what is wrong with which line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragcorp.domain.exceptions import InvalidInputError, NotFoundError
from ragcorp.evaluation.sets import EvaluationQuery, Passage
from ragcorp.infrastructure.evaluation_sets.reading import read_qrels, read_set

CORPUS = '{"_id": "a", "title": "Uno", "text": "El primero."}\n{"_id": "b", "text": "El segundo."}\n'
QUERIES = '{"_id": "q1", "text": "¿cuál?", "kind": "k"}\n{"_id": "q2", "text": "otro"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in (("corpus.jsonl", CORPUS), ("queries.jsonl", QUERIES), ("qrels.tsv", QRELS)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def test_a_set_is_read(folder: Path) -> None:
    result = read_set(folder)
    assert result.name == folder.name
    assert result.passages == [
        Passage(id="a", title="Uno", text="El primero."),
        Passage(id="b", title="", text="El segundo."),
    ]
    assert result.queries == [EvaluationQuery(id="q1", text="¿cuál?", kind="k")]  # q2 has no relevant document
    assert result.qrels == {"q1": {"a": 2, "b": 0}}


@pytest.mark.parametrize(
    "qrels",
    [
        "q1\ta\t2\n",
        "q1 0 a 2\n",
        "q1\t0\ta\t2\r\n",
        "query\tid\tdocument\trelevance\nq1\tQ0\ta\t2\n",
        "\ufeffquery-id\tcorpus-id\tscore\n\nq1\ta\t2\n",
    ],
    ids=["no headings", "TREC, blanks", "TREC, tabs, CR LF", "four headings", "BOM and blank line"],
)
def test_each_layout_of_judgements_is_read(folder: Path, qrels: str) -> None:
    (folder / "qrels.tsv").write_bytes(qrels.encode())
    assert read_qrels(folder) == {"q1": {"a": 2}}


def test_judgements_may_stand_where_beir_has_them(folder: Path) -> None:
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    assert read_qrels(folder) == {"q1": {"a": 2, "b": 0}}


def test_ids_may_be_numbers_and_titles_null(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text(
        '{"_id": 7, "title": null, "text": "x"}\n{"_id": "8", "title": "T", "text": " "}\n'
    )
    result = read_set(folder)
    assert result.passages == [Passage(id="7", title="", text="x"), Passage(id="8", title="", text="T")]


def test_a_separator_inside_a_text_ends_no_line(folder: Path) -> None:
    entry = json.dumps({"_id": "a", "text": "uno\u2028dos\u0085tres"}, ensure_ascii=False)
    (folder / "corpus.jsonl").write_text(entry + "\n", encoding="utf-8")
    assert read_set(folder).passages[0].text == "uno\u2028dos\u0085tres"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("corpus.jsonl", CORPUS + "{not json}\n", "corpus.jsonl, line 3 is no JSON."),
        ("corpus.jsonl", CORPUS + "[]\n", "corpus.jsonl, line 3 is no JSON object."),
        ("corpus.jsonl", CORPUS + '\n{"text": "x"}\n', "corpus.jsonl, line 4 has no _id."),
        ("corpus.jsonl", CORPUS + '{"_id": "a", "text": "x"}\n', "corpus.jsonl, line 3 has the _id of line 1."),
        ("corpus.jsonl", '{"_id": "a"}\n', "corpus.jsonl, line 1 has no text."),
        (
            "corpus.jsonl",
            '{"_id": "a", "title": 3, "text": "x"}\n',
            "corpus.jsonl, line 1 has a title that is no string.",
        ),
        ("corpus.jsonl", "", "corpus.jsonl, line 1 holds no passage."),
        ("queries.jsonl", QUERIES + '{"_id": "q3", "text": " "}\n', "queries.jsonl, line 3 has an empty text."),
        ("qrels.tsv", QRELS + "q1\ta\n", "qrels.tsv, line 4 has neither three nor four columns."),
        ("qrels.tsv", QRELS + "q1\ta\tmuch\n", "qrels.tsv, line 4 has a grade that is no whole number."),
        ("qrels.tsv", QRELS + "q1\ta\t1\n", "qrels.tsv, line 4 grades a document again, and otherwise."),
        ("qrels.tsv", QRELS + "\ta\t1\n", "qrels.tsv, line 4 names no query or no document."),
        ("qrels.tsv", "q7\ta\t1\n", "No query of the set has a relevant document."),
    ],
)
def test_what_is_wrong_is_named_with_its_line(folder: Path, name: str, content: str, said: str) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInputError) as error:
        read_set(folder)
    assert error.value.message == said
    assert error.value.remedy


def test_bytes_that_are_no_utf8_are_refused(folder: Path) -> None:
    (folder / "queries.jsonl").write_bytes(b'{"_id": "q1", "text": "caf\xe9"}\n')
    with pytest.raises(InvalidInputError, match=r"queries\.jsonl, line 1"):
        read_set(folder)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(NotFoundError, match=name.replace(".", r"\.")):
        read_set(folder)


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_set(tmp_path / "none")


def test_the_sets_of_this_project_are_read(eval_dir: Path) -> None:
    sizes = {}
    for name in ("corp-es", "faq-es", "xquad-es"):
        result = read_set(eval_dir / name)
        sizes[name] = (len(result.passages), len(result.queries), len(result.by_kind()))
    assert sizes == {"corp-es": (230, 114, 9), "faq-es": (105, 105, 3), "xquad-es": (240, 1190, 0)}
