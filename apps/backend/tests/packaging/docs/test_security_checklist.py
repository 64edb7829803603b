"""docs/security.md: every line says how it is shown, by tests, or whose task it is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[5]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [line.strip("|").split("|") for line in TEXT.splitlines() if re.match(r"\| (?:API|LLM|V)\d", line)]


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
