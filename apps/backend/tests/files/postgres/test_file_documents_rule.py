"""Which chunk the lines of a file are: what the database says is what the rule, worked out in Python, says."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.domain.documents import ChunkDraft
from ragcorp.domain.ports.file_search import StoredLines
from support.files.documents import HTML, file_of, known, lines, store
from support.storage.postgres import open_database

CONTENTS = st.lists(st.sampled_from(("plazo", "Importe", "ñandú", "x_1")), min_size=1, max_size=3).map(" ".join)
PASSAGES = st.tuples(
    st.integers(1, 12),
    st.integers(0, 8),
    st.lists(st.integers(1, 14), max_size=4),
    st.lists(st.sampled_from(("PLAZO", "importe", "Ñandu\u0301", "x_1", "nada")), max_size=3),
    st.lists(CONTENTS, max_size=2),
)


def expected(contents: Sequence[str], passage: Any, *, sure: bool, kept: bool) -> int | None:
    """Return the chunk's index, worked out in Python: content n stands on line 2n + 1."""
    start, length, matched, texts, whole = passage
    wanted = {unicodedata.normalize("NFC", text).lower() for text in texts}
    if not wanted:
        return None
    ranked = []
    for index, content in enumerate(contents):
        line = 2 * index + 1
        held, lines_held = sum(text in content.lower() for text in wanted), len({line}.intersection(matched))
        if kept:
            near = start <= line <= start + length
            full = sum(item == content for item in set(whole))
            taken = full or (sure and near and held and lines_held)
            # matched lines lie within the passage: whoever looks beyond it counts none
            ranked += [((bool(full), near, full, lines_held if near else 0, held, -index), taken)]
        else:
            padded = f" {content.replace('_', ' ')} "
            full = len({item for item in whole if f" {item.replace('_', ' ')} " in padded})
            ranked += [((full, held, -index), full or (sure and held))]
    best = max((key for key, taken in ranked if taken), default=None)
    return None if best is None else -best[-1]


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    contents=st.lists(CONTENTS, min_size=1, max_size=6),
    passages=st.lists(PASSAGES, min_size=1, max_size=8),
    sure=st.booleans(),
    kept=st.booleans(),
)
def test_the_chunk_is_the_one_that_the_rule_says(
    dsn: str, owner_dsn: str, contents: list[str], passages: list[Any], sure: bool, kept: bool
) -> None:
    names = ("a.md",) if sure else ("docs/a.md", "a.md")
    asked = [
        lines(*names, span=(start, start + length), matched=matched, texts=texts, whole=whole)
        for start, length, matched, texts, whole in passages
    ]

    async def run() -> list[StoredLines]:
        with psycopg.connect(owner_dsn, autocommit=True) as connection:
            connection.execute("DELETE FROM documents")
        async with open_database(dsn) as database:
            await store(database, file_of("a.md", *contents, media_type="text/plain" if kept else HTML))
            answers: list[StoredLines] = await known(database, *asked)
            return answers

    assert [item.chunk and item.chunk.chunk_index for item in asyncio.run(run())] == [
        expected(contents, passage, sure=sure, kept=kept) for passage in passages
    ]


def test_the_drafts_are_lines_apart() -> None:
    """What the numbers of the tests above stand on."""
    drafts: Sequence[ChunkDraft] = file_of("a", "x", "y").chunks
    assert [(draft.line_start, draft.line_end) for draft in drafts] == [(1, 1), (3, 3)]
