"""What must hold of marks, whatever the text."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.retrieval.search.highlights import disjoint, literal, matching, spellings, tokens_of
from ragcorp.domain.search.requests import Highlight

TEXTS = st.one_of(st.text(max_size=200), st.text("aÁa\u0301ñßİ1 2.-_/:@\\,(+)\u00a0\u200b\u2011😀\n", max_size=200))


def places(marks: Iterable[Highlight]) -> set[int]:
    return {place for mark in marks for place in range(mark.start, mark.end)}


@given(TEXTS, st.sets(st.integers(0, 9)), st.lists(st.text(min_size=1, max_size=3), max_size=4))
def test_marks_are_in_order_and_disjoint_and_lie_in_the_text(text: str, held: set[int], terms: list[str]) -> None:
    tokens = tokens_of(text)
    lexemes = {spelling: frozenset({str(len(spelling) % 10)}) for spelling in spellings(tokens)}
    of_words = tuple(matching(tokens, lexemes, frozenset(map(str, held))))
    assert disjoint(of_words) == of_words
    given_marks = [*of_words, *literal(text, terms)]
    marks = disjoint(given_marks)
    assert places(marks) == places(given_marks)
    ends = [0, *(place for mark in marks for place in (mark.start, mark.end)), len(text)]
    assert ends == sorted(ends)


@given(TEXTS)
def test_every_letter_is_in_a_word_that_is_analysed(text: str) -> None:
    tokens = tokens_of(text)
    lexemes = {spelling: frozenset({"x"}) for spelling in spellings(tokens)}
    marks = tuple(matching(tokens, lexemes, frozenset({"x"})))
    assert {place for place, char in enumerate(text) if char.isalnum()} <= places(marks)
