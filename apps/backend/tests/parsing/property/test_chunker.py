"""What holds for the passages of any text."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from ragcorp.domain.documents import ChunkDraft, ParsedText
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.tokens import estimate_tokens

WORDS = st.text("abcñáé", min_size=1, max_size=9)
WHOLE_WORD = re.compile(r"(?<!\w)[abcñáé]{1,9}(?!\w)")
LINES = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
BLOCKS = st.one_of(
    LINES,
    st.lists(LINES, min_size=1, max_size=6).map(lambda lines: ". ".join(lines) + "."),
    st.tuples(st.integers(1, 6), LINES).map(lambda pair: "#" * pair[0] + " " + pair[1]),
    LINES.map(lambda line: f"{line}\n==="),
    st.lists(LINES, min_size=1, max_size=8).map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    st.tuples(LINES, st.lists(LINES, max_size=12)).map(
        lambda pair: f"| {pair[0]} | b |\n|---|---|\n" + "\n".join(f"| {row} | 1 |" for row in pair[1])
    ),
    st.lists(LINES, max_size=6).map(lambda lines: "```\n# " + "\n".join(lines) + "\n```"),
    st.integers(1, 400).map(lambda size: "x" * size),
    st.text(max_size=60),
    st.text("|-:# \n>`*_[]()~=1.\t", max_size=80),
)
TEXTS = st.lists(BLOCKS, max_size=10).flatmap(
    lambda blocks: st.sampled_from(["\n\n", "\n", "\r\n\r\n", " "]).map(lambda gap: gap.join(blocks))
)
SIZES = st.sampled_from([(32, 0), (32, 15), (64, 8), (64, 31), (256, 32)])


def body(chunk: ChunkDraft, text: str) -> str:
    """Return the content without a repeated table header, which is two lines that do not stand at its place."""
    place = "\n".join(text.split("\n")[chunk.line_start - 1 : chunk.line_end])
    if chunk.content in place:
        return chunk.content
    header, separator, rest = chunk.content.split("\n", 2)
    assert f"{header}\n{separator}" in text
    assert "|" in header
    assert set(separator) <= set("|-: \t")
    assert rest in place
    return rest


@given(text=TEXTS, size=SIZES)
@example(text="| " + "a b " * 60 + "|\n|---|\n| x |", size=(32, 0))
@example(text="aaa\n|\n-|\n" + "a|b " * 50, size=(32, 15))
def test_passages(text: str, size: tuple[int, int]) -> None:
    chunker = StructureChunker(max_tokens=size[0], overlap_tokens=size[1])
    parsed = ParsedText(text=text)
    found = chunker.chunk(parsed)
    assert found == chunker.chunk(parsed)
    assert [chunk.chunk_index for chunk in found] == list(range(len(found)))
    covered: set[int] = set()
    for chunk in found:
        assert chunk.content.strip()
        assert chunk.token_count == estimate_tokens(chunk.content) <= size[0]
        assert len(chunk.content) <= 8_000
        inner = body(chunk, text)
        assert inner == inner.strip()
        assert chunk.page_start is chunk.page_end is None
        covered |= set(range(chunk.line_start, chunk.line_end + 1))
    assert {number for number, line in enumerate(text.split("\n"), 1) if line.strip()} <= covered
    parts = {word for chunk in found for word in WHOLE_WORD.findall(chunk.content)}
    assert set(WHOLE_WORD.findall(text)) == parts


@given(pages=st.lists(st.lists(LINES, max_size=5).map("\n".join), min_size=1, max_size=5), size=SIZES)
def test_page_spans(pages: list[str], size: tuple[int, int]) -> None:
    text = ""
    starts = []
    for page in pages:
        starts.append(len(text))
        text += page + "\n\n"
    page_of_line = [
        sum(start <= offset for start in starts)
        for offset in [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]
    ]
    found = StructureChunker(max_tokens=size[0], overlap_tokens=size[1]).chunk(
        ParsedText(text=text, page_starts=tuple(starts))
    )
    for chunk in found:
        assert chunk.page_start == page_of_line[chunk.line_start - 1]
        assert chunk.page_end == page_of_line[chunk.line_end - 1]
