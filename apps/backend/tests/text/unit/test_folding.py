"""Folding keeps ñ and takes ligatures apart, wherever text is compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ragcorp.application.files.candidates import _words
from ragcorp.application.files.keyword_extraction import given_terms
from ragcorp.application.retrieval.search.highlights import literal
from ragcorp.application.structure.mentions.tokens import plain_word
from ragcorp.domain.text.entity_names import file_name, heading_name, identifier_name, stem_name, symbol_name
from ragcorp.domain.text.folding import folded, folded_in_place, folded_with_places
from ragcorp.domain.text.utterances import content_words
from ragcorp.evaluation import answers
from ragcorp.infrastructure.extractive.words import same_root, stem_root
from ragcorp.infrastructure.openai_compatible import extracted_facts
from ragcorp.interface.tui.query_marks import QueryMarks

PLACES: dict[str, Callable[[str], object]] = {
    "folded": folded,
    "in place": folded_in_place,
    "with places": lambda text: folded_with_places(text)[0],
    "file names": lambda text: file_name(f"{text}.md"),
    "stems": lambda text: stem_name(f"{text}.md"),
    "symbols": symbol_name,
    "headings": heading_name,
    "identifiers": identifier_name,
    "words of files": _words,
    "mentions": plain_word,
    "utterances": content_words,
    "lexemes of answers": stem_root,
    "judged answers": answers._folded,
    "extracted facts": extracted_facts._folded,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("one", "other"), [("año", "ano"), ("PEÑA", "pena"), ("Caña", "CANA")])
def test_words_that_differ_in_a_tilde_stay_apart(place: str, one: str, other: str) -> None:
    assert PLACES[place](one) != PLACES[place](other)


@pytest.mark.parametrize("place", PLACES)
def test_case_and_accents_do_not_count(place: str) -> None:
    assert PLACES[place]("CAMIÓN") == PLACES[place]("camion")
    assert PLACES[place]("AÑO") == PLACES[place]("año")


@pytest.mark.parametrize("place", sorted(set(PLACES) - {"in place", "mentions", "utterances", "lexemes of answers"}))
def test_a_ligature_is_its_letters(place: str) -> None:
    assert PLACES[place]("ﬁn") == PLACES[place]("fin")


def test_offsets_stay_where_a_letter_is_folded_in_place() -> None:
    text = "ﬁn, Ærø, Straße 2.º — ½ m² a\u0301 El AÑO"
    assert folded_in_place(text) == "fn, aro, strase 2.º — ½ m² a\u0301 el año"
    assert len(folded_in_place(text)) == len(text)


def test_places_lead_from_a_folded_character_to_its_letter() -> None:
    assert folded_with_places("An\u0303o ﬁn 2.º á\u0301x") == (
        "año fin 2.º ax",
        [0, 1, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 14],
    )


def test_marks_and_terms_of_files_keep_the_tilde() -> None:
    assert [(mark.start, mark.end) for mark in literal("un ano, un año, un an\u0303o", ["año"])] == [(11, 14), (19, 23)]
    assert [(mark.start, mark.end) for mark in literal("el ﬁn", ["fin"])] == [(3, 5)]
    assert given_terms("año, ano") == ("año", "ano")
    assert QueryMarks("año").spans("un ano y un AÑO") == [(12, 15)]
    assert not same_root("cañ", "can")
