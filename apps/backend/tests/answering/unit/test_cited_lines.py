"""The lines that a citation leads to."""

from __future__ import annotations

from dataclasses import replace

from ragcorp.domain.citations.checks import cited_lines
from support.answering.passages import PlainTexts

CONTENT = "Uno.\n\nDos dos.\nTres.\n" + "\n".join(f"Línea {number}." for number in range(20))
CHUNK = replace(PlainTexts({"a.md": CONTENT}).passages[0].chunk, line_start=101, line_end=124)


def test_the_lines_of_the_quotes() -> None:
    assert cited_lines(CHUNK, ["Dos dos."]) == (103, 103)
    assert cited_lines(CHUNK, ["Dos\n  dos. Tres."]) == (103, 104)
    assert cited_lines(CHUNK, ["Tres.", "Uno."]) == (101, 104)


def test_twelve_at_most() -> None:
    assert cited_lines(CHUNK, ["Línea 19.", "Uno."]) == (124, 124)
    assert cited_lines(CHUNK, ["no está"]) == (101, 112)
    assert cited_lines(CHUNK, [" ".join(CONTENT.split())]) == (101, 112)


def test_a_repeated_header_has_no_lines_of_its_own() -> None:
    table = "| A | B |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    chunk = replace(PlainTexts({"a.md": table}).passages[0].chunk, line_start=50, line_end=51)
    assert cited_lines(chunk, ["| 1 | 2 |"]) == (50, 50)
    assert cited_lines(chunk, ["| 3 | 4 |"]) == (51, 51)
    assert cited_lines(chunk, ["| A | B |"]) == (50, 50)
