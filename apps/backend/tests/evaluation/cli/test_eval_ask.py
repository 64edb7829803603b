"""`ragcorp eval --ask` over a small set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.processes.command_line import Done, run_here

Command = Callable[..., Done]

QUESTIONS: list[dict[str, Any]] = [
    {
        "_id": "q1",
        "text": "¿Cuál es el plazo de entrega?",
        "kind": "fact",
        "answerable": True,
        "documents": ["contrato.md"],
        "gold": ["30 días"],
        "evidence": "El plazo de entrega es de 30 días.",
        "forbidden": ["60 días"],
    },
    {
        "_id": "q2",
        "text": "¿De qué color es la nave espacial?",
        "kind": "unanswerable",
        "answerable": False,
        "documents": [],
        "gold": [],
        "evidence": "",
        "forbidden": [],
    },
]


@pytest.fixture
def ask_set(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    (folder / "documents").mkdir(parents=True)
    (folder / "documents/contrato.md").write_text(
        "# Contrato\n\nEl plazo de entrega es de 30 días.\n\nEl pago se hace a 60 días.", encoding="utf-8"
    )
    lines = [json.dumps(question, ensure_ascii=False) for question in QUESTIONS]
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def ragcorp(owner_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("DATABASE_URL", owner_dsn)
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")
    return run_here


def test_shares_over_all_and_per_kind(ragcorp: Command, ask_set: Path) -> None:
    done = ragcorp("eval", str(ask_set), "--ask", "--json")
    assert done.code == 0, done.err
    results = done.json
    expected = {
        "right": 1.0,
        "hedged": 0.0,
        "wrong_value": 0.0,
        "cited": 1.0,
        "evidence": 1.0,
        "abstained_rightly": 1.0,
        "abstained_wrongly": 0.0,
    }
    assert {key: results[key] for key in expected} == expected
    assert sorted(results["kinds"]) == ["fact", "unanswerable"]
    assert results["kinds"]["unanswerable"]["right"] is None
    assert (results["set"], results["profile"], results["asked"]) == ("small", "linear", 2)
    assert [answer["question"] for answer in results["answers"]] == ["q1", "q2"]
    assert results["answers"][0]["citations"][0]["line_start"] == 3


def test_people_see_a_table(ragcorp: Command, ask_set: Path) -> None:
    done = ragcorp("eval", str(ask_set), "--ask", "--profile", "sparse", "--every", "2")
    assert done.code == 0, done.err
    assert "fact" in done.out
    assert "100.0%" in done.out
    assert "unanswerable" not in done.out


@pytest.mark.parametrize("options", [["--profile", "nonsense"], ["--profile", "linear", "--profile", "hybrid"]])
def test_one_known_profile(ragcorp: Command, ask_set: Path, options: list[str]) -> None:
    assert ragcorp("eval", str(ask_set), "--ask", *options).code == 2
