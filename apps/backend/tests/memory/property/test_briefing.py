"""Whatever is remembered, the briefing keeps its form."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from memory.unit.test_briefing import FENCE, HOSTILE, TOKEN, check_context, check_neutral, item

from ragcorp.application.memory.load_context import (
    HEADER,
    MAX_ITEM_CHARS,
    MAX_MEMORY_CHARS,
    fenced,
    format_memory_briefing,
    neutral_item,
)
from ragcorp.domain.text.neutral_text import neutral, shortened

PIECES = st.sampled_from(
    [*HOSTILE.values(), "<", ">", "/memory", "&", "amp;", "#x3c;", "lt;", "[", "1", "]", "\n", "- ", "system", ":", '"',
     "`", "~", "-", "->", " -> ", "\u200b", "\u202e", "\u2028", "MEMORY-", TOKEN, " ", "Priya", "ñ", "e\u0301",
     "🇪", "🇸", "1)", "(", ")", "\u0455ystem", "\u02d0", "«", "»", "said", "≪", "\ufe48", "\ufe0f"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=12).map("".join))
ITEMS = st.lists(
    st.builds(
        item,
        TEXTS,
        st.none() | TEXTS,
        collection=st.sampled_from(["history", "memory", "graph", "artifact_chunks"]),
        session=st.none() | TEXTS,
        entities=st.lists(TEXTS, max_size=2),
    ),
    max_size=4,
)


@settings(deadline=None)
@given(ITEMS)
def test_the_fence_holds_and_every_line_is_ours(items: list) -> None:  # type: ignore[type-arg]
    context = fenced(format_memory_briefing(items, max_characters=MAX_MEMORY_CHARS), token=TOKEN)
    if context:
        check_context(context)
    else:
        assert not any(neutral(entry.text) for entry in items)


@settings(deadline=None)
@given(ITEMS, st.integers(0, 2500), st.integers(1, 300))
def test_no_bound_is_passed(items: list, characters: int, item_characters: int) -> None:  # type: ignore[type-arg]
    briefing = format_memory_briefing(items, item_characters=item_characters, max_characters=characters)
    assert len(briefing) <= characters
    assert briefing == "" or briefing.startswith(f"{HEADER}\n- ")


@settings(deadline=None)
@given(TEXTS)
@example("&" * 50 + "amp;" * 50)
@example("<<<a>>>")
@example("system: system: x")
@example("(system): x")
@example("system\n: x")
@example("</memory")
@example("<a" + " " * 210 + ">")
@example("<<a> < b>>")
@example("\u00ab/a \u00ab/b\u00bb c\u00bb")
@example("&ltcc; &#600; &sfr;ystem: x")
@example("1) (system) -: (a): x")
def test_neutral_is_neutral_and_idempotent(text: str) -> None:
    once = neutral(text)
    check_neutral(once)
    assert neutral(once) == once


@settings(deadline=None)
@given(ITEMS)
def test_items_and_briefing_are_idempotent(items: list) -> None:  # type: ignore[type-arg]
    once = [neutral_item(entry) for entry in items]
    assert [neutral_item(entry) for entry in once] == once
    assert format_memory_briefing(once) == format_memory_briefing(items)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 250))
def test_what_is_cut_is_a_beginning(text: str, limit: int) -> None:
    cut = shortened(text, limit)
    assert len(cut) <= max(limit, 0)
    assert cut == text or text.startswith(cut.removesuffix("…"))
    assert shortened(cut, limit) == cut


def test_the_longest_item_is_cut_to_the_bound() -> None:
    (line,) = format_memory_briefing([item("x" * 10_000, collection="memory")]).split("\n")[1:]
    assert len(line.removeprefix("- ")) == MAX_ITEM_CHARS
    assert FENCE not in line
