"""Queries as people mistype them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.evaluation.perturbation import (
    Variant,
    document_frequencies,
    varied,
    with_a_typo,
    without_accents,
    without_rarest_words,
)
from ragcorp.evaluation.sets import EvaluationQuery, EvaluationSet, Passage

PASSAGES = [
    Passage(id="1", title="Pedido", text="El pedido de la oficina"),
    Passage(id="2", title="", text="El plazo del pedido de compra"),
    Passage(id="3", title="", text="La compra, el contrato y el depósito"),
]


def test_accents_are_stripped_and_nothing_else() -> None:
    assert without_accents("¿Cuánto cuesta el año, señora Müller?") == "¿Cuanto cuesta el ano, senora Muller?"


@given(st.text())
def test_stripped_twice_is_stripped_once(text: str) -> None:
    assert without_accents(without_accents(text)) == without_accents(text)


@given(st.text(alphabet="abcdeñó ", min_size=0, max_size=40), st.integers(0, 20))
def test_a_typo_is_one_slip_in_one_word(text: str, seed: int) -> None:
    mistyped = with_a_typo(text, seed=seed)
    assert mistyped == with_a_typo(text, seed=seed)
    before, after = text.split(" "), mistyped.split(" ")
    changed = [(was, now) for was, now in zip(before, after, strict=True) if was != now]
    if not any(len(word) >= 4 for word in before):
        assert mistyped == text
        return
    ((was, now),) = changed
    assert was[0] == now[0]
    assert abs(len(was) - len(now)) <= 1


def test_codes_and_short_words_are_left_alone() -> None:
    assert {with_a_typo("el REQ-2024-001 de v2.3.1", seed=seed) for seed in range(20)} == {"el REQ-2024-001 de v2.3.1"}


def test_seeds_slip_differently() -> None:
    slips = {with_a_typo("presupuesto", seed=seed) for seed in range(40)}
    assert len(slips) > 10
    assert "presupuesto" not in slips


def test_the_two_rarest_words_are_dropped() -> None:
    frequencies = document_frequencies(PASSAGES)
    assert (frequencies["el"], frequencies["pedido"], frequencies["deposito"]) == (3, 2, 1)
    # por: in no passage; plazo: in one; compra and pedido: in two
    assert without_rarest_words("¿Plazo por pedido, el de compra?", frequencies) == "¿ pedido, el de compra?"


@pytest.mark.parametrize(("text", "kept"), [("Zyx", "Zyx"), ("Zyx pedido", "pedido"), ("a b c", "c"), ("¿?", "¿?")])
def test_one_word_is_kept(text: str, kept: str) -> None:
    assert without_rarest_words(text, document_frequencies(PASSAGES)) == kept


def test_a_variant_changes_the_queries_alone() -> None:
    whole = EvaluationSet(
        name="tiny",
        passages=PASSAGES,
        queries=[EvaluationQuery(id=name, text=f"depósito {name} contrato", kind="k") for name in ("uno", "dos")],
        qrels={},
    )
    for variant in Variant:
        changed = varied(whole, variant, seed=1)
        assert [(query.id, query.kind) for query in changed.queries] == [("uno", "k"), ("dos", "k")]
        assert all(was.text != now.text for was, now in zip(whole.queries, changed.queries, strict=True))
        assert changed.passages == whole.passages
    one = varied(whole.every(2), Variant.TYPOS, seed=1).queries[0]
    assert one == varied(whole, Variant.TYPOS, seed=1).queries[0]
