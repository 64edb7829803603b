"""Token counts are those of o200k_base."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.infrastructure.structure.tokenizer import SplintrTokenizer

TOKENIZER = SplintrTokenizer()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("hello world", 2),
        # [83, 8251, 2488, 382, 2212, 0], as OpenAI's cookbook prints it
        ("tiktoken is great!", 6),
        # the digits in threes
        ("1234567", 3),
        # no special token of its own: < | endo ft ext | >
        ("<|endoftext|>", 7),
        ("\n\n", 1),
    ],
)
def test_counts_by_hand(text: str, tokens: int) -> None:
    assert TOKENIZER.count(text) == tokens


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_text_is_counted_and_a_line_that_begins_with_a_letter_adds_its_own(first: str, second: str) -> None:
    assert 0 <= TOKENIZER.count(first) <= len(first.encode("utf-8", "surrogatepass"))
    assert (TOKENIZER.count(first) == 0) is (not first)
    above, below = f"{first}\n", f"a {second}"
    assert TOKENIZER.count(above + below) == TOKENIZER.count(above) + TOKENIZER.count(below)


def test_threads_count_alike() -> None:
    texts = [f"línea {number} de prueba: {'x' * number}\n" * 50 for number in range(40)]
    alone = [TOKENIZER.count(text) for text in texts]
    shared = SplintrTokenizer()
    with ThreadPoolExecutor(max_workers=8) as threads:
        assert list(threads.map(shared.count, texts)) == alone
