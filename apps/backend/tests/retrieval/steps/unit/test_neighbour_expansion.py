"""Neighbour expansion: what is joined, and what two chunks share stands once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from ragcorp.application.retrieval.steps.neighbour_expansion import expanded, report
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import InvalidInputError

MANUAL, OTHER = UUID(int=1), UUID(int=2)


def chunk(index: int, content: str, *, lines: tuple[int, int] | None = None, page: int | None = None) -> Chunk:
    """A chunk of lines of its own, unless ``lines`` says otherwise."""
    first, last = lines or (10 * index + 1, 10 * index + 9)
    return Chunk(
        id=str(100 + index),
        document_id=MANUAL,
        external_id="manual.md",
        chunk_index=index,
        content=content,
        heading_path=(),
        title="Manual",
        language="es",
        path=None,
        metadata={},
        line_start=first,
        line_end=last,
        page_start=page,
        page_end=page,
    )


def by_place(chunks: Sequence[Chunk]) -> dict[tuple[UUID, int], Chunk]:
    return {(item.document_id, item.chunk_index): item for item in chunks}


SIX = [chunk(index, f"Parte {index}.", page=index + 1) for index in range(6)]


def text(centre: int, *, distance: int = 1, chunks: Sequence[Chunk] = SIX) -> str:
    return expanded(by_place(chunks)[MANUAL, centre], by_place(chunks), distance=distance).content


def test_a_chunk_in_the_middle_is_shown_with_the_ones_before_and_after_it() -> None:
    assert text(3) == "Parte 2.\n[CHUNK BOUNDARY]\nParte 3.\n[CHUNK BOUNDARY]\nParte 4."


def test_the_ends_of_a_document_have_one_neighbour() -> None:
    assert text(0) == "Parte 0.\n[CHUNK BOUNDARY]\nParte 1."
    assert text(5) == "Parte 4.\n[CHUNK BOUNDARY]\nParte 5."


def test_a_document_of_one_chunk_has_none() -> None:
    assert text(0, chunks=SIX[:1]) == "Parte 0."


def test_a_greater_distance_joins_more_in_the_order_of_the_document() -> None:
    assert text(2, distance=2).split("\n[CHUNK BOUNDARY]\n") == [f"Parte {index}." for index in range(5)]
    assert text(0, distance=5).count("[CHUNK BOUNDARY]") == 5
    assert text(2, distance=0) == "Parte 2."


def test_a_gap_is_not_bridged() -> None:
    assert text(3, distance=3, chunks=[*SIX[:2], *SIX[3:]]).split("\n[CHUNK BOUNDARY]\n") == [
        "Parte 3.",
        "Parte 4.",
        "Parte 5.",
    ]


def test_chunks_of_other_documents_are_no_neighbours() -> None:
    strangers = {(OTHER, index): item for index, item in enumerate(SIX)}
    assert expanded(SIX[3], strangers, distance=1) is SIX[3]


def test_lines_and_pages_span_what_is_shown_and_the_rest_is_the_chunks_own() -> None:
    whole = expanded(SIX[3], by_place(SIX), distance=1)
    assert (whole.line_start, whole.line_end, whole.page_start, whole.page_end) == (21, 49, 3, 5)
    assert (whole.id, whole.chunk_index) == (SIX[3].id, 3)


def test_pages_that_are_not_known_are_left_out_of_the_span() -> None:
    chunks = [chunk(0, "a"), chunk(1, "b", page=4), chunk(2, "c")]
    whole = expanded(chunks[1], by_place(chunks), distance=1)
    assert (whole.page_start, whole.page_end) == (4, 4)
    plain = expanded(chunks[0], {}, distance=1)
    assert (plain.page_start, plain.page_end) == (None, None)


def test_whole_lines_that_two_chunks_share_stand_with_the_one_that_was_found() -> None:
    chunks = [
        chunk(0, "uno\ndos\ntres\ncuatro", lines=(1, 4)),
        chunk(1, "tres\ncuatro\ncinco\nseis", lines=(3, 6)),
        chunk(2, "seis\n  siete", lines=(6, 7)),
    ]
    assert text(1, chunks=chunks).split("\n[CHUNK BOUNDARY]\n") == ["uno\ndos", "tres\ncuatro\ncinco\nseis", "  siete"]


def test_words_that_two_chunks_of_one_line_share_stand_once() -> None:
    chunks = [
        chunk(0, "El plazo es de treinta días. Se cuenta desde la firma.", lines=(1, 1)),
        chunk(1, "Se cuenta desde la firma. No se puede ampliar.", lines=(1, 1)),
    ]
    assert text(0, chunks=chunks).endswith("la firma.\n[CHUNK BOUNDARY]\nNo se puede ampliar.")
    assert text(1, chunks=chunks).startswith("El plazo es de treinta días.\n[CHUNK BOUNDARY]\nSe cuenta")


def test_the_longest_shared_text_counts() -> None:
    chunks = [chunk(0, "x sí sí sí", lines=(1, 1)), chunk(1, "sí sí sí y no", lines=(1, 1))]
    assert text(0, chunks=chunks) == "x sí sí sí\n[CHUNK BOUNDARY]\ny no"


def test_parts_of_words_are_not_shared() -> None:
    chunks = [chunk(0, "la casa", lines=(1, 1)), chunk(1, "casamiento", lines=(1, 1))]
    assert text(0, chunks=chunks) == "la casa\n[CHUNK BOUNDARY]\ncasamiento"
    chunks = [chunk(0, "el ocaso", lines=(1, 1)), chunk(1, "caso cerrado", lines=(1, 1))]
    assert text(0, chunks=chunks) == "el ocaso\n[CHUNK BOUNDARY]\ncaso cerrado"


def test_equal_words_of_chunks_without_a_common_line_are_the_texts_own() -> None:
    chunks = [chunk(0, "Estribillo", lines=(1, 1)), chunk(1, "Estribillo\ny final", lines=(2, 3))]
    assert text(0, chunks=chunks) == "Estribillo\n[CHUNK BOUNDARY]\nEstribillo\ny final"


def test_a_neighbour_that_says_nothing_more_is_left_out_and_those_behind_it_are_not() -> None:
    chunks = [
        chunk(0, "uno dos tres", lines=(1, 1)),
        chunk(1, "dos tres", lines=(1, 1)),
        chunk(2, "tres cuatro", lines=(1, 1)),
    ]
    assert text(0, distance=2, chunks=chunks) == "uno dos tres\n[CHUNK BOUNDARY]\ncuatro"


@pytest.mark.parametrize("collection", ["artifacts", "memory", "history", "graph"])
def test_passages_of_other_collections_stay_as_they_are(collection: str) -> None:
    passage = replace(SIX[3], collection=collection)
    assert expanded(passage, by_place(SIX), distance=1) is passage


@pytest.mark.parametrize("distance", [-1, 6])
def test_a_distance_out_of_range_is_refused(distance: int) -> None:
    with pytest.raises(InvalidInputError) as refused:
        expanded(SIX[3], {}, distance=distance)
    assert refused.value.field == "expand_neighbors"


def test_the_report_says_how_far() -> None:
    made = report(4, distance=2)
    assert (made.step, made.before, made.after, made.parameters) == ("neighbour_expansion", 4, 4, {"distance": 2})
