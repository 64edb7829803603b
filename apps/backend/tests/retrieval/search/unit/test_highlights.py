"""Which words of a passage are marked, given the lexemes of each spelling."""

from __future__ import annotations

import pytest

from ragcorp.application.retrieval.search.highlights import (
    MAX_COMPOUND,
    MAX_WORD,
    disjoint,
    literal,
    matching,
    spellings,
    tokens_of,
)
from ragcorp.domain.exceptions import InvalidRankingError
from ragcorp.domain.search.requests import Highlight


def marked(text: str, lexemes: dict[str, set[str]], *wanted: str) -> list[str]:
    existing = {spelling: frozenset(held) for spelling, held in lexemes.items()}
    return [text[mark.start : mark.end] for mark in matching(tokens_of(text), existing, frozenset(wanted))]


def spelt(text: str) -> list[str]:
    return list(spellings(tokens_of(text)))


CODE = {
    "req-2024-001": {"req", "2024", "001", "1", "req-2024-001", "req2024001"},
    "req-2024-002": {"req", "2024", "002", "2", "req-2024-002", "req2024002"},
    "req": {"req"},
    "2024": {"2024"},
    "001": {"001", "1"},
    "002": {"002", "2"},
}


def test_a_code_is_one_mark_and_of_another_only_the_parts_are_marked_that_match() -> None:
    text = "Expedientes REQ-2024-001 y REQ-2024-002."
    wanted = ("req", "2024", "001", "1", "req-2024-001", "req2024001")
    assert marked(text, CODE, *wanted) == ["REQ-2024-001", "REQ", "2024"]


def test_a_compound_is_marked_whole_for_what_only_the_whole_means() -> None:
    lexemes = {"wi-fi": {"wi", "fi", "wifi"}, "wi": {"wi"}, "fi": {"fi"}}
    assert marked("La red wi-fi.", lexemes, "wifi") == ["wi-fi"]
    assert marked("La red wi-fi.", lexemes, "fi") == ["fi"]


def test_a_number_written_with_spaces_is_one_mark() -> None:
    text = "Llame al 91 234 56 78, o a las 9."
    assert spelt(text)[2:7] == ["91 234 56 78", "91", "234", "56", "78"]
    assert marked(text, {"91 234 56 78": {"91", "234", "56", "78", "912345678"}, "91": {"91"}}, "912345678") == [
        "91 234 56 78"
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("+34 91 234 56 78", "+34 91 234 56 78"),
        ("(011) 4567-8901", "(011) 4567-8901"),
        ("src/pagos/cobro.py", "src/pagos/cobro.py"),
        ("C:\\datos\\a.txt", "c:\\datos\\a.txt"),
        ("1.234,56", "1.234,56"),
        ("REQ\u20112024\u2011001", "req\u20112024\u2011001"),
        ("uno, dos", "uno"),
        ("uno. Dos", "uno"),
    ],
)
def test_how_a_text_is_read(text: str, first: str) -> None:
    assert spelt(text)[0] == first


def test_a_mark_counts_code_points_and_holds_the_accents_of_its_word() -> None:
    text = "😀 gestio\u0301n\u200b 😀 GESTIÓN"
    lexemes = {"gestio\u0301n": {"gestion"}, "gestión": {"gestion"}}
    assert list(matching(tokens_of(text), lexemes_of(lexemes), frozenset({"gestion"}))) == [
        Highlight(start=2, end=10),
        Highlight(start=14, end=21),
    ]


def lexemes_of(lexemes: dict[str, set[str]]) -> dict[str, frozenset[str]]:
    return {spelling: frozenset(held) for spelling, held in lexemes.items()}


def test_what_is_too_long_is_not_analysed_but_its_parts_are() -> None:
    word = "x" * (MAX_WORD + 1)
    assert spelt(f"{word} y") == ["y"]
    path = "/".join(["abc"] * (MAX_COMPOUND // 3))
    assert set(spelt(path)) == {"abc"}
    table = " ".join(str(number) for number in range(40))
    assert spelt(table) == [str(number) for number in range(40)]


def test_literal_marks_know_neither_case_nor_accents_and_take_printed_signs_for_typed_ones() -> None:
    text = "Cláusula CLA\u0301USULA, art\u2013culo 'x' \u2018x\u2019"
    terms = ["clausula", "art-culo", "'X'", ""]
    assert [text[mark.start : mark.end] for mark in literal(text, terms)] == [
        "Cláusula",
        "CLA\u0301USULA",
        "art\u2013culo",
        "'x'",
        "\u2018x\u2019",
    ]


def test_marks_that_overlap_are_one_and_those_that_touch_are_two() -> None:
    marks = [
        Highlight(start=5, end=9),
        Highlight(start=0, end=3),
        Highlight(start=2, end=4),
        Highlight(start=9, end=10),
    ]
    assert disjoint(marks) == (Highlight(start=0, end=4), Highlight(start=5, end=9), Highlight(start=9, end=10))


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 3), (4, 3)])
def test_a_highlight_holds_a_character(start: int, end: int) -> None:
    with pytest.raises(InvalidRankingError):
        Highlight(start=start, end=end)
