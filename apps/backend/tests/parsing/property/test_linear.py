"""Twice the input takes twice the work, counted in calls and in characters, not in time."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.infrastructure.parsing import cutting
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.kinds.mending import mend
from ragcorp.infrastructure.parsing.kinds.reading import Reading
from ragcorp.infrastructure.parsing.kinds.records import read_records
from ragcorp.infrastructure.parsing.page_text import join_pages
from ragcorp.infrastructure.structure.text_entities import text_entities

UNITS = (
    "# ", "## a\n", "- ", "- a\n", "1. ", "1. a\n", "1.1. a\n", "- 1. ", "> ", ">", "Cláusula 1. x\n", "Artículo 14\n",
    "PRIMERA.- x\n", "1.1.1.1 x\n", "a) x\n", "Plazo ..... 3\n", "## 1. a\n", "|a|b|\n|-|-|\n", "| a |\n", "[", "![",
    "![]()", "![](data:x) ", "\\#", "\\[", "`", "```\n", "a\n---\n", "**a** ", "AB-1 ", "a. ", "a\n", "\n", " ", "x",
)  # fmt: skip
FEWEST = 6_000
"""Characters. Below them the fixed costs count, and a text is not cut at all levels yet."""
MOST = 2.6

QUICK = (Phase.explicit, Phase.generate, Phase.shrink)
"""Without the phase that traces each line."""

texts = st.lists(st.sampled_from(UNITS), min_size=1, max_size=3).map("".join)


def calls(work: Callable[[], object]) -> int:
    """Return how many functions of Python and C ``work`` calls."""
    count = 0

    def seen(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def ratio(measure: Callable[[str], int], unit: str) -> float:
    once = unit * (1 + FEWEST // len(unit))
    return measure(once * 2) / max(1_000, measure(once))


def entities(text: str) -> object:
    return text_entities(text, path="a.md", plain=False)


def chunks(text: str) -> object:
    return StructureChunker(max_tokens=64, overlap_tokens=8).chunk(ParsedText(text=text))


def mended(text: str) -> object:
    return mend(text, escaped=True)


def pages(text: str) -> object:
    return join_pages([text, text, text], [text[:80]])


@pytest.mark.parametrize("work", [entities, chunks, mended, pages])
@settings(max_examples=30, deadline=None, phases=QUICK)
@given(unit=texts)
def test_calls(work: Callable[[str], object], unit: str) -> None:
    assert ratio(lambda text: calls(lambda: work(text)), unit) <= MOST


@settings(max_examples=30, deadline=None, phases=QUICK)
@given(unit=texts)
def test_characters_that_are_counted_and_cut(unit: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        seen = 0
        count, cut = cutting.estimate_tokens, cutting.Splitter._soft_cuts

        def counted(text: str) -> int:
            nonlocal seen
            seen += len(text)
            return count(text)

        def spied(self: Any, start: int, stop: int, *limits: int) -> Any:
            nonlocal seen
            seen += stop - start
            return cut(self, start, stop, *limits)

        patched.setattr(cutting, "estimate_tokens", counted)
        patched.setattr(cutting.Splitter, "_soft_cuts", spied)

        def measure(text: str) -> int:
            nonlocal seen
            seen = 0
            chunks(text)
            return seen

        assert ratio(measure, unit) <= MOST
        text = unit * (1 + FEWEST // len(unit))
        # a block is cut again at most so many times
        assert measure(text) <= 60 * len(text)


class Counting(str):
    """A line that counts the characters of its slices."""

    __slots__ = ()

    taken = 0

    def __getitem__(self, key: Any) -> str:
        piece = super().__getitem__(key)
        Counting.taken += len(piece)
        return piece


@pytest.mark.parametrize("unit", ["\\#", "\\-", " \\>", "a\\~"])
def test_escapes_of_one_line(unit: str) -> None:
    from ragcorp.infrastructure.parsing.kinds.mending import _unescaped

    Counting.taken = 0
    line = Counting(unit * 5_000)
    assert _unescaped(line) == re.sub(r"(?<!^)\\([#>~-])", r"\1", str(line)) or unit == " \\>"
    assert Counting.taken <= 4 * len(line)


LINES = (
    ";",
    "a",
    '"',
    "=",
    ":",
    ";a",
    ";a=b",
    ';a="b"',
    "=\n",
    "\n ",
    "\nQUOTED-PRINTABLE;",
    "ENCODING=QUOTED-PRINTABLE:",
)


def entries(text: str) -> object:
    file = SourceFile.of_text("BEGIN:VEVENT\nSUMMARY:x\nNOTA" + text, media_type="text/calendar")
    return read_records(file, Reading(max_characters=10**7))


@settings(max_examples=60, deadline=None, phases=QUICK)
@given(unit=st.lists(st.sampled_from(LINES), min_size=1, max_size=4).map("".join))
def test_lines_of_calendars(unit: str) -> None:
    """An expression with an exponential search never ends."""
    assert ratio(lambda text: calls(lambda: entries(text)), unit) <= MOST
