"""What must hold of the citation filter, whatever the text and wherever it is cut."""

from __future__ import annotations

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from ragcorp.application.citation_check import CitationFilter, as_plain_text, cited_numbers

ALLOWED = frozenset({1, 2, 12})

texts = st.lists(
    st.sampled_from(["[", "]", "1", "2", "9", ", ", ";", " ", "\n", "a", ".", "[1]", " [9]", "[1, 2]", "[12"]),
    max_size=25,
).map("".join)


@given(texts, st.lists(st.integers(0, 60)))
def test_the_pieces_give_what_the_whole_gives(text: str, cuts: list[int]) -> None:
    whole = CitationFilter(allowed=ALLOWED)
    expected = whole.feed(text) + whole.finish()
    pieces = CitationFilter(allowed=ALLOWED)
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    assert "".join(pieces.feed(text[a:b]) for a, b in itertools.pairwise(edges)) + pieces.finish() == expected


@given(texts)
@example("[9[9]]")
@example("[1[9]3]")
def test_only_allowed_numbers_are_left(text: str) -> None:
    checked = CitationFilter(allowed=ALLOWED)
    assert set(cited_numbers(checked.feed(text) + checked.finish())) <= ALLOWED


@given(st.text("ab ().,¡", max_size=30))
def test_text_without_citations_stays_as_it_is(text: str) -> None:
    checked = CitationFilter(allowed=ALLOWED)
    assert checked.feed(text) + checked.finish() == text


@given(texts)
def test_quoted_text_cites_nothing(text: str) -> None:
    assert cited_numbers(as_plain_text(text)) == []
