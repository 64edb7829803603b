"""Slices of passages: what is outside of them never changes."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.documents.edit_chunk import inserted, lines_of, removed, replaced, slice_among, slice_of
from ragcorp.domain.documents import Chunk, ChunkDraft, ParsedText
from ragcorp.domain.exceptions import ConflictError
from ragcorp.infrastructure.parsing.chunker import StructureChunker

WORDS = st.sampled_from(["plazo", "entrega", "obra", "30 días", "Acme", "la", "del"])
SENTENCES = st.lists(WORDS, min_size=4, max_size=40).map(lambda words: " ".join(words) + ".")
BLOCKS = st.one_of(
    SENTENCES,
    st.integers(1, 9).map(lambda number: f"## Cláusula {number}"),
    st.lists(SENTENCES, min_size=2, max_size=4).map("\n".join),
    st.lists(WORDS, min_size=2, max_size=5).map(lambda words: "\n".join(f"- {word}" for word in words)),
)
TEXTS = st.lists(BLOCKS, min_size=1, max_size=12).map("\n\n".join)


def chunk_of(draft: ChunkDraft) -> Chunk:
    return Chunk(
        id="1", document_id=uuid4(), external_id="a.md", chunk_index=draft.chunk_index, content=draft.content,
        heading_path=draft.heading_path, title="", language="es", path=None, metadata={}, line_start=draft.line_start,
        line_end=draft.line_end, page_start=None, page_end=None,
    )  # fmt: skip


def chunks_of(text: str, *, overlap: int) -> list[Chunk]:
    chunker = StructureChunker(max_tokens=48, overlap_tokens=overlap)
    return [chunk_of(draft) for draft in chunker.chunk(ParsedText(text=text))]


@given(TEXTS, st.sampled_from([0, 16]), SENTENCES)
def test_each_passage_is_found_and_only_it_is_replaced(text: str, overlap: int, new: str) -> None:
    for chunk in chunks_of(text, overlap=overlap):
        try:
            start, end = slice_of(chunk, text)
        except ConflictError:
            line = text.split("\n")[chunk.line_start - 1]
            # a passage is refused only where its words start twice in one line
            assert line.count(chunk.content.split("\n")[0]) > 1
            continue
        assert text[start:end] == chunk.content
        assert lines_of(text, (start, end)) == (chunk.line_start, chunk.line_end)
        changed, place = replaced(text, (start, end), new)
        assert changed == text[:start] + new + text[end:]
        assert changed[place[0] : place[1]] == new
        without = removed(text, (start, end))
        assert without.startswith(text[:start])
        assert without.split() == (text[:start] + text[end:]).split()


@given(TEXTS, st.data(), SENTENCES)
def test_an_added_passage_is_parted_by_blank_lines(text: str, data: st.DataObject, new: str) -> None:
    after = data.draw(st.sampled_from([slice_of(chunk, text)[1] for chunk in findable(text)] + [len(text)]))
    changed, (start, end) = inserted(text, after, new)
    assert changed[start:end] == new
    assert start == 0 or changed[:start].endswith("\n\n")
    assert changed[end:].startswith("\n")
    assert "\n\n\n" not in changed[max(0, start - 3) : end + 3]
    assert changed.split() == (text[:after] + " " + new + " " + text[after:]).split()


def findable(text: str) -> list[Chunk]:
    result = []
    for chunk in chunks_of(text, overlap=0):
        try:
            slice_of(chunk, text)
        except ConflictError:
            continue
        result.append(chunk)
    return result


def test_the_same_words_in_another_line_are_another_passage() -> None:
    text = "Sí.\n\nNo.\n\nSí."
    third = ChunkDraft(
        chunk_index=2, content="Sí.", heading_path=(), line_start=5, line_end=5, page_start=None, page_end=None,
        token_count=1,
    )  # fmt: skip
    assert slice_of(chunk_of(third), text) == (10, 13)
    assert removed(text, (10, 13)) == "Sí.\n\nNo.\n\n"
    assert removed(text, (0, 3)) == "No.\n\nSí."
    assert removed(text, (5, 8)) == "Sí.\n\nSí."


@pytest.mark.parametrize(
    ("text", "content", "line"),
    [
        ("a a", "a", 1),
        ("x", "y", 1),
        ("a", "a", 2),
        ("", "a", 1),
        ("b\na", "a", 1),
        ("| h |\n|---|\n| 1 |", "| h |\n| 1 |", 3),
    ],
)
def test_what_does_not_stand_there_exactly_once_is_a_conflict(text: str, content: str, line: int) -> None:
    draft = ChunkDraft(
        chunk_index=0, content=content, heading_path=(), line_start=line, line_end=line, page_start=None, page_end=None,
        token_count=1,
    )  # fmt: skip
    with pytest.raises(ConflictError, match="exactly once"):
        slice_of(chunk_of(draft), text)


def test_equal_passages_of_a_line_are_told_apart_by_their_order() -> None:
    text = "x\nSí. Sí. Sí.\nSí."
    draft = ChunkDraft(
        chunk_index=2, content="Sí.", heading_path=(), line_start=2, line_end=2, page_start=None, page_end=None,
        token_count=1,
    )  # fmt: skip
    result = [slice_among(chunk_of(draft), text, position=position, count=3) for position in range(3)]
    assert result == [(2, 5), (6, 9), (10, 13)]
    for count in (1, 2, 4):
        with pytest.raises(ConflictError):
            slice_among(chunk_of(draft), text, position=0, count=count)
