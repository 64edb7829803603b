"""What must hold of an answer's text, whatever a model writes and wherever it is cut."""

from __future__ import annotations

import itertools
import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from ragcorp.application.answering.answer_text import AnswerText
from ragcorp.domain.citations.checks import as_plain_text, cited_numbers

ALLOWED = frozenset({1, 2, 12})
SOURCE = "Véase https://docs.example/norma?a=1 y www.example.org/x."

PIECES = [
    "[", "]", "1", "2", "9", ", ", ";", " ", "\n", "a", ".", "[1]", " [9]", "[1, 2]", "[12", "(", ")", ":", "!", "<",
    ">", "/", "<b>", "![x](", "](", "]:", "http://", "https://docs.example/norma?a=1", "www.", "evil", "&", "#91;",
    "&lt;", "\x1b[31m", "\u202e", "\u200b", "【", "】", "†", "^", "-", "②", "٩", "END-0123456789abcdef", "あ", "。",
    "data:", "\r\n", "\U000e0041", "  ", "\t", " " * 40, "1," * 40, "[" * 30,
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40)


def filtered(*pieces: str) -> str:
    checked = AnswerText(allowed=ALLOWED, sources=[SOURCE])
    return "".join(map(checked.feed, pieces)) + checked.finish()


@given(texts, st.lists(st.integers(0, 60)))
@example("Véase http://x9 [1]: a", [13])
@example("a  [9]", [1, 2, 3])
@example("[" + " " * 299 + "9]" + " 9]", [100, 200, 301])
@example("[9" * 200 + "]" * 200, [7, 300])
def test_the_pieces_give_what_the_whole_gives(text: str, cuts: list[int]) -> None:
    expected = filtered(text)
    assert filtered(*text) == expected
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    assert filtered(*(text[a:b] for a, b in itertools.pairwise(edges))) == expected
    assert expected == expected.strip()


@given(texts)
@example("[9[9]]")
@example("[1[9]3]")
@example("[&#57;] ［9］ 【9†x】 [⑨] [٩] [9-12] [^9] [\u200b9] [1234567890] [" + " " * 400 + "9]")
@example("![x][9](http://evil/) [x]\x1b(http://evil) [1]: http://evil")
@example("https://docs.example/norma?a=1あい")
@example("https://docs.example/norma?a=1»http://evil/»http://evil/")
@example("a ]\u202e:b [1]\r: c")
@example("< [9]/a & [9]lt; ] [9](x) www [9].evil.com http: [9]//evil.com")
@example("[1] [9]: //evil.com")
@example("[12^] [-1] [;2]")
@example("< [9]!")
@example("&#59 [9];")
def test_nothing_is_left_that_cites_loads_or_leads_elsewhere(text: str) -> None:
    shown = filtered(text)
    assert set(cited_numbers(shown)) <= ALLOWED
    assert not re.search(
        r"\[[\s,;^0-9-]*(?!(?:1|2|12)\])[0-9][\s,;^0-9-]{0,290}\]", unicodedata.normalize("NFKC", shown)
    )
    assert "](" not in shown
    assert not re.search(r"<[/!?A-Za-z]", shown)
    assert not re.search(r"^[\s>*+-]*(?:\d+[.)]\s+)?\[[^\[\]\n]*\]:", shown, re.MULTILINE)
    for address in re.findall(r"(?:https?://|\bwww\.)[a-z0-9][^\s<]*", shown, re.IGNORECASE):
        assert SOURCE.find(address.rstrip("*_`.,;:!?)]}'…")) >= 0
    assert not re.search("END-[0-9a-f]{16}|&#?\\w{1,32};", shown)
    assert all(item in "\n\t\u200c\u200d" or unicodedata.category(item) not in ("Cc", "Cf", "Cs") for item in shown)


@given(st.text("ab ().,¡\n<", max_size=30))
def test_text_without_what_is_dangerous_stays_as_it_is(text: str) -> None:
    assert filtered(text).replace("\u2039", "<") == text.strip()


def test_what_looks_like_a_citation_and_is_none_has_round_brackets() -> None:
    assert filtered("a [9-12] b [^9] c [1–2] d") == "a (9-12) b (^9) c (1–2) d"


def test_an_answer_of_a_wellbehaved_model_stays_as_it_is() -> None:
    for text in (
        "Según [1]: el plazo es de 30 días [1][2]; véase https://docs.example/norma?a=1.",
        "- Punto **uno** [1]\n- `x[i] < y` y 3 < 4 [2]\n\n1. Primero: a & b [12].\n\t«cita» “otra” 👩‍👧 m² ½",
        "Kérem: नमस्ते می‌خواهم 日本語[1]。次",
    ):
        assert filtered(text) == filtered(*text) == text


@given(texts)
def test_quoted_text_cites_nothing(text: str) -> None:
    assert cited_numbers(as_plain_text(text)) == []
