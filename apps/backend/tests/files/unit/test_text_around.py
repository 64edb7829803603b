"""What of a matched line is compared with the documents."""

from __future__ import annotations

import pytest

from ragcorp.domain.files.passage_text import text_around
from ragcorp.domain.files.values import Mark


def around(line: str, word: str, **options: int) -> str:
    start = line.index(word)
    return text_around(line, Mark(1, start, start + len(word), 0), **options)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  el plazo firme\t", "el plazo firme"),
        ("antes\rel plazo\rdespués", "el plazo"),
        ("plazo", "plazo"),
        ("el\u00a0plazo\u00a0", "el\u00a0plazo\u00a0"),
    ],
)
def test_a_line_is_taken_whole_without_the_spaces_around_it(line: str, expected: str) -> None:
    assert around(line, "plazo") == expected


def test_of_a_long_line_whole_words_around_the_mark_are_taken() -> None:
    line = "".join(f"p{number:03} " for number in range(200))  # word n at 5 n
    assert around(line, "p100").split() == [f"p{number:03}" for number in range(81, 140)]
    assert around(line, "p000").split() == [f"p{number:03}" for number in range(60)]
    assert around(line, "p199").split() == [f"p{number:03}" for number in range(180, 200)]
    assert len(around(line, "p100")) <= 300


def test_a_long_line_without_spaces_is_cut_anywhere() -> None:
    line = "x" * 500 + "plazo" + "y" * 500
    assert around(line, "plazo") == "x" * 100 + "plazo" + "y" * 195
    assert around(line, "plazo", limit=110) == "x" * 100 + "plazo" + "y" * 5
