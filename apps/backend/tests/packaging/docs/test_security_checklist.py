"""docs/security.md: every line says how it is shown, by tests that exist, or whose matter it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[5]
TESTS = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", TEXT)))
ROWS = [line.strip("|").split("|") for line in TEXT.splitlines() if re.match(r"\| (?:API|LLM|V)\d", line)]


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[f"{path}::{name}" for path, name in NAMED])
def test_a_test_that_is_named_exists(path: str, name: str) -> None:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_line_says_how_it_is_shown_or_whose_matter_it_is() -> None:
    for risk, done, shown in ROWS:
        assert "::" in shown or re.search(r"Not applicable: |[Ll]eft to the operator|operator sets|^ Not app", done), (
            risk
        )


def test_the_lists_are_whole() -> None:
    lines = [row[0].split()[0] for row in ROWS]
    assert [line for line in lines if line.startswith("API")] == [f"API{n}" for n in range(1, 11)]
    assert [line for line in lines if line.startswith("LLM")] == [f"LLM{n:02}" for n in range(1, 11)]
    assert {re.sub(r"\D.*", "", line[1:]) for line in lines if line.startswith("V")} == {str(n) for n in range(1, 18)}
