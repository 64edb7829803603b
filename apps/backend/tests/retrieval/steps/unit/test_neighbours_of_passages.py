"""Passages as the chunker cuts them, with their overlap, read on as one text."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from ragcorp.application.retrieval.steps.neighbour_expansion import BOUNDARY, expanded
from ragcorp.domain.documents import Chunk, ParsedText
from ragcorp.infrastructure.parsing.chunker import StructureChunker

DOCUMENT = UUID(int=3)


def prose(*, seed: int, per_line: int) -> str:
    """Sentences of words that are each their own, some ``per_line`` a line."""
    choice = random.Random(seed)
    sentences, number = [], 0
    for _ in range(120):
        length = choice.randint(3, 30)
        sentences.append(" ".join(f"palabra{number + place}" for place in range(length)).capitalize() + ".")
        number += length
    lines = [" ".join(sentences[start : start + per_line]) for start in range(0, len(sentences), per_line)]
    return "\n".join(lines)


def passages(text: str) -> dict[tuple[UUID, int], Chunk]:
    return {
        (DOCUMENT, draft.chunk_index): Chunk(
            id=str(draft.chunk_index),
            document_id=DOCUMENT,
            external_id="a.md",
            chunk_index=draft.chunk_index,
            content=draft.content,
            heading_path=draft.heading_path,
            title="",
            language="es",
            path=None,
            metadata={},
            line_start=draft.line_start,
            line_end=draft.line_end,
            page_start=None,
            page_end=None,
        )
        for draft in StructureChunker(max_tokens=128, overlap_tokens=32).chunk(ParsedText(text=text))
    }


@pytest.mark.parametrize("per_line", [1, 4, 120])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_passage_and_its_neighbours_are_a_span_of_the_text(seed: int, per_line: int) -> None:
    text = prose(seed=seed, per_line=per_line)
    places = passages(text)
    assert len(places) > 10
    overlaps = 0
    for (_, index), passage in places.items():
        whole = expanded(passage, places, distance=2)
        shown = whole.content.replace(BOUNDARY, " ").split()
        assert " ".join(shown) in " ".join(text.split())
        joined = [places[DOCUMENT, index + away].content for away in range(-2, 3) if (DOCUMENT, index + away) in places]
        overlaps += len(shown) < len(" ".join(joined).split())
    assert overlaps > len(places) / 2
