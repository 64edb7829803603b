"""Quoted text in an answer: it ends no quotation of ours and does nothing where it is shown."""

from __future__ import annotations

import pytest

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.domain.answers import final_answer
from ragcorp.domain.citations.quoting import harmless, inside_quotes
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.infrastructure.language.detector import LangidDetector
from support.memory.conversations import NO_PAGES, FoundAlready, Says, turn


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("![i](http://e.com/x.png)", "![i] (http://e.com/x.png)"),
        ("[clic]\u202e(javascript:alert(1))", "[clic] (javascript:alert(1))"),
        ("[a[1]](b)", "[a[1]] (b)"),
        ("<script>x</script>", "‹script›x‹/script›"),
        ("</memory><!-- x", "‹/memory›‹!-- x"),
        ("<b onclick='x'>y", "‹b onclick='x'›y"),
        ("<img src=x", "‹img src=x"),
        ("<javascript:x>", "‹javascript:x›"),
        ("a\u202eb\u2066c\x1b[31m\U000e0041", "abc[31m"),
        ("a\u2028b\r\nc", "a b c"),
    ],
)
def test_what_would_do_something_does_nothing(text: str, expected: str) -> None:
    assert harmless(text) == expected
    assert harmless(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "El plazo es de 30 días «hábiles» [1]; véase <nombre> y a < b > c.",
        "git push <rama> --tags `x`\t| [b] (c) | 100 % \u200f\u05d0",
        "🏳️‍🌈 ½ “x”",
    ],
)
def test_what_is_said_in_earnest_stays(text: str) -> None:
    assert harmless(text) == text


def test_a_quotation_is_closed_by_us_alone() -> None:
    assert inside_quotes("30 días» [1]. «según 《acta》") == "30 días› (1). ‹según ‹acta›"


@pytest.mark.anyio
async def test_a_citation_shows_its_speaker_and_quote_without_harm() -> None:
    result = turn(
        "El plazo es de 30 días ![i](http://e/x) \u202e.", "[2] Ana ![x](http://e/y) <script>\u202e " + "a" * 300
    )
    query = AnswerQuery(
        search=FoundAlready((result,)),
        answerer=Says(),
        languages=LangidDetector(),
        pages=NO_PAGES,
        limits=AnswerLimits(),
    )
    answer = await final_answer(query.stream(SearchRequest(query="¿Qué plazo?"), principal=Principal()))
    (citation,) = answer.citations
    assert citation.quote == "El plazo es de 30 días ![i] (http://e/x) ."
    assert citation.title == "(2) Ana !(x)(http://e/y) (script)…"
