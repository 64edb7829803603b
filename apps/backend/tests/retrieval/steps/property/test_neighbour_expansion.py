"""A text that was cut with an overlap comes together again."""

from __future__ import annotations

import re
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.retrieval.steps.neighbour_expansion import BOUNDARY, expanded
from ragcorp.domain.documents import Chunk

DOCUMENT = UUID(int=7)
PLACES = dict[tuple[UUID, int], Chunk]


def chunks_of(words: list[str], breaks: list[int], cuts: list[tuple[int, int]]) -> PLACES:
    """Return the chunks words[start:end] of a text with a line end before the words of ``breaks``."""
    lines = [sum(place <= number for place in breaks) + 1 for number in range(len(words))]
    results = {}
    for index, (start, end) in enumerate(cuts):
        text = words[start]
        for number in range(start + 1, end):
            text += ("\n" if number in breaks else " ") + words[number]
        results[DOCUMENT, index] = Chunk(
            id=str(index),
            document_id=DOCUMENT,
            external_id="a.md",
            chunk_index=index,
            content=text,
            heading_path=(),
            title="",
            language="es",
            path=None,
            metadata={},
            line_start=lines[start],
            line_end=lines[end - 1],
            page_start=None,
            page_end=None,
        )
    return results


@st.composite
def cut_texts(draw: st.DrawFn, *, overlap: int) -> tuple[list[str], PLACES]:
    """Distinct words, in chunks of more words than two overlaps, each begun up to ``overlap`` words early."""
    words = [f"p{number}" for number in range(draw(st.integers(10, 60)))]
    breaks = draw(st.lists(st.sampled_from(range(1, len(words))), unique=True))
    ends, place = [], 0
    while place < len(words):
        place = min(len(words), place + draw(st.integers(2 * overlap + 1, 2 * overlap + 8)))
        ends.append(place)
    starts = [0, *(end - draw(st.integers(0, overlap)) for end in ends[:-1])]
    return words, chunks_of(words, breaks, list(zip(starts, ends, strict=True)))


@given(cut_texts(overlap=4), st.integers(0, 5), st.data())
def test_every_word_of_the_span_stands_once_and_in_order(
    cut: tuple[list[str], PLACES], distance: int, data: st.DataObject
) -> None:
    words, places = cut
    centre = data.draw(st.sampled_from(sorted(places)))
    whole = expanded(places[centre], places, distance=distance)
    shown = [word for word in whole.content.split() if re.fullmatch(r"p\d+", word)]
    first = max(0, centre[1] - distance)
    last = min(len(places) - 1, centre[1] + distance)
    start = words.index(places[DOCUMENT, first].content.split()[0])
    end = words.index(places[DOCUMENT, last].content.split()[-1])
    assert shown == words[start : end + 1]
    assert places[centre].content in whole.content.split(BOUNDARY)
    assert (whole.line_start, whole.line_end) == (places[DOCUMENT, first].line_start, places[DOCUMENT, last].line_end)


@given(cut_texts(overlap=3), st.integers(1, 3), st.data())
def test_a_result_is_the_same_whatever_else_was_read(
    cut: tuple[list[str], PLACES], distance: int, data: st.DataObject
) -> None:
    _, places = cut
    centre = data.draw(st.sampled_from(sorted(places)))
    needed = {key: item for key, item in places.items() if abs(key[1] - centre[1]) <= distance}
    assert expanded(places[centre], places, distance=distance) == expanded(places[centre], needed, distance=distance)


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_any_text_can_be_joined_and_the_found_chunk_stands_whole(before: str, own: str, after: str) -> None:
    places = chunks_of(["x"] * 3, [], [(0, 1), (1, 2), (2, 3)])
    for index, text in enumerate((before, own, after)):
        object.__setattr__(places[DOCUMENT, index], "content", text)
    assert own in expanded(places[DOCUMENT, 1], places, distance=1).content
