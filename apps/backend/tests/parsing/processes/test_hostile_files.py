"""Files that attack their parser get an answer within seconds, and the next file is read."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator

import pytest

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.infrastructure.sandbox.pool import Limits
from support.parsing import hostile, samples
from support.parsing.reading import child_pool, digest

LIMITS = Limits(seconds=3.0, memory_bytes=400 << 20, processes=1)

LIMIT = frozenset({"too_slow", "too_large_in_memory"})
"""A slow machine meets the one, a fast machine the other."""
TEXT = frozenset({"text"})
SLOW_TEXT = TEXT | LIMIT
DAMAGED = frozenset({"unreadable_document", "no_recognition"})
"""A damaged PDF may look like one of scans."""
TOO_LARGE = frozenset({"payload_too_large"})

EXPECTED = {
    "loop.pdf": LIMIT,
    "doubling.pdf": LIMIT,
    "flate.pdf": LIMIT,
    "filters.pdf": LIMIT | DAMAGED,
    "arrays.pdf": DAMAGED,
    "tree.pdf": DAMAGED,
    "kids.pdf": SLOW_TEXT,
    "outline.pdf": TEXT,
    "count.pdf": DAMAGED,
    "length.pdf": DAMAGED,
    "cut.pdf": DAMAGED,
    "flipped.pdf": DAMAGED | TEXT,
    "paragraphs.docx": SLOW_TEXT,
    "tables.docx": DAMAGED,
    "lists.docx": SLOW_TEXT,
    "laughs.docx": DAMAGED,
    "foreign.docx": DAMAGED,
    "bodiless.docx": DAMAGED,
    "bomb.docx": TOO_LARGE,
    "lying.docx": DAMAGED,
    "cut.docx": DAMAGED,
    "flipped.docx": DAMAGED,
    "far.xlsx": TEXT,
    "shared.xlsx": TOO_LARGE,
    "rows.xlsx": TEXT,
    "bomb.xlsx": TOO_LARGE,
    "flipped.xlsx": DAMAGED,
    "bare.pptx": DAMAGED,
    "bomb.pptx": TOO_LARGE,
    "cut.pptx": DAMAGED,
    "nested.eml": DAMAGED | LIMIT,
    "parts.eml": SLOW_TEXT,
    "header.eml": LIMIT,
    "addresses.eml": SLOW_TEXT,
    "comments.eml": DAMAGED,
    "nested.html": TEXT,
    "tables.html": TEXT,
    "lists.html": TEXT,
    "tags.html": TEXT,
    "images.html": TEXT,
    "figures.md": SLOW_TEXT,
    "steps.md": SLOW_TEXT,
    "deep.md": SLOW_TEXT,
    "quotes.md": TEXT,
    "lists.md": SLOW_TEXT,
    "brackets.md": SLOW_TEXT,
    "fences.md": SLOW_TEXT,
    "tables.md": SLOW_TEXT,
    "headings.md": SLOW_TEXT,
    "codes.md": SLOW_TEXT,
    "quoted.csv": SLOW_TEXT,
    "wide.csv": SLOW_TEXT,
    "bomb.epub": DAMAGED,
    "laughs.rtf": DAMAGED,
    "bomb.odt": TOO_LARGE,
    "bomb.zip": TOO_LARGE,
    "members.zip": TEXT,
    "nested.zip": TEXT,
}

Read = Callable[[str, bytes], str]


@pytest.fixture(scope="module")
def read() -> Iterator[Read]:
    """Return the outcome of reading a file: ``text``, or the reason or code of its refusal."""
    with asyncio.Runner() as runner:
        context = child_pool(LIMITS)
        pool = runner.run(context.__aenter__())

        def outcome(name: str, content: bytes) -> str:
            try:
                found = runner.run(digest(pool, name, content))
            except RagcorpError as error:
                assert "/etc" not in str(error)
                return error.reason or error.code
            assert found.chunks
            assert "root:" not in found.parsed.text
            return "text"

        yield outcome
        runner.run(context.__aexit__(None, None, None))


def test_the_table_is_whole() -> None:
    assert EXPECTED.keys() == hostile.ALL.keys()
    assert len(EXPECTED) >= 40


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds memory")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_hostile_file_gets_its_answer(name: str, read: Read) -> None:
    assert read(name, hostile.ALL[name]()) in EXPECTED[name]
    assert read("good.html", samples.html_file()) == "text"


def test_a_small_file_may_ask_for_much() -> None:
    assert len(hostile.form_that_draws_itself_twice()) < 600
