"""Coverage by hand, phrases as wholes, roots."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.statements import Cell
from ragcorp.infrastructure.extractive.terms import (
    ABOUT_NAME,
    HEADING,
    PASSAGE,
    RELATED,
    ROOT,
    UNKNOWN_SHARE,
    Surroundings,
    Term,
    Words,
    around_credit,
    cell_match,
    contains_phrase,
    make_terms,
    match,
    share,
    weight,
)
from ragcorp.infrastructure.extractive.words import same_root


def test_a_share_by_hand() -> None:
    assert share([1.0, 0.0, 0.5], [2.0, 1.0, 1.0]) == pytest.approx(2.5 / 4)
    assert share([], []) == 0.0


def test_idf_of_bm25() -> None:
    assert weight(chunks=100, frequency=1) == pytest.approx(math.log(1 + 99.5 / 1.5))
    assert weight(chunks=0, frequency=3) > 0


def test_a_word_that_no_passage_holds_in_any_form_says_little() -> None:
    terms = make_terms(
        frozenset({"preci", "siga", "nort"}),
        names=frozenset({"nort"}),
        generic=frozenset(),
        groups=[frozenset({"preci", "cuot"})],
        phrases=(),
        vocabulary=frozenset({"cuot"}),
        frequencies={},
        chunks=100,
    )
    rare = weight(chunks=100, frequency=1)
    assert {term.lexeme: term.weight for term in terms} == {
        "preci": rare,
        "siga": pytest.approx(UNKNOWN_SHARE * rare),
        "nort": rare,
    }


def test_a_cell_holds_a_number_under_its_noun() -> None:
    cells = (Cell(header="Nivel", text="Coral"), Cell(header="Noches al año", text="15"))
    assert cell_match("15 noches", cells) == 1.0
    assert cell_match("5 noches", cells) == 0.0
    assert cell_match("15 dias", cells) == 0.0


def test_the_lexeme_its_root_and_its_relations() -> None:
    term = Term(lexeme="descuent", roots=frozenset({"descont"}), related=frozenset({"rebaj"}))
    assert match(term, Words(lexemes=frozenset({"descuent", "rebaj"}))) == 1.0
    assert match(term, Words(lexemes=frozenset({"descont", "rebaj"}))) == ROOT
    assert match(term, Words(lexemes=frozenset({"rebaj"}))) == RELATED
    assert match(term, Words(lexemes=frozenset({"otro"}))) == 0.0


def test_the_best_place_counts() -> None:
    term = Term(lexeme="lumbrer", is_name=True)
    held, empty = Words(lexemes=frozenset({"lumbrer"})), Words()
    everywhere = Surroundings(heading=held, passage=held, about=empty)
    assert around_credit(term, everywhere) == HEADING
    assert around_credit(term, Surroundings(heading=empty, passage=held, about=held)) == ABOUT_NAME
    assert around_credit(term, Surroundings(heading=empty, passage=held, about=empty)) == PASSAGE


@pytest.mark.parametrize(
    ("plain", "phrase", "expected"),
    [
        ("el req-2024-001 sigue", "req-2024-001", True),
        ("el req-2024-0010 sigue", "req-2024-001", False),
        ("archivela 4.3.1", "4.3", False),
        ("archivela 4.3.", "4.3", True),
        ("zona 2 | zona 3", "zona  2", True),
        ("zona 21", "zona 2", False),
    ],
)
def test_phrases_stand_as_wholes(plain: str, phrase: str, expected: bool) -> None:
    assert contains_phrase(plain, phrase) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("descuent", "descont", True),
        ("renuev", "renov", True),
        ("line", "lin", True),
        ("abril", "abri", False),
        ("contrat", "consult", False),
        ("2024", "2025", False),
    ],
)
def test_roots(one: str, other: str, expected: bool) -> None:
    assert same_root(one, other) is expected
    assert same_root(other, one) is expected


@given(st.text(max_size=50))
def test_folding_keeps_offsets(text: str) -> None:
    assert len(folded_in_place(text)) == len(text)
