"""What a user's words are: small talk, a question or a statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.text.utterances import UtteranceKind, content_words, is_small_talk, kind_of, without_courtesies

SMALL_TALK = [
    "gracias", "Gracias por todo", "hola", "Hola, buenas tardes", "Sí", "no", "No, gracias", "y", "a", "", "...", "👍",
    "1", "¿Qué tal?", "¿Cómo estás?", "vale", "perfecto", "thanks", "Thanks for your help!", "How are you?",
    "Yes, please", "ok", "Fine.", "obrigada", "Bom dia!", "tudo bem?", "não",
]  # fmt: skip
QUESTIONS = [
    "¿Cuál es el plazo de entrega del contrato Acme?", "cual es el plazo", "¿Y ella?", "¿y el precio?",
    "y cuándo vence", "Buenos días. ¿Cuál es el plazo?", "Dime el plazo de entrega del contrato",
    "quiero saber cuánto cuesta", "plazo de entrega del contrato Acme", "precio contrato Globex",
    "¿El contrato vence en junio?", "REQ-2026-014", "What did I tell Priya about vacation?", "what did i say",
    "Tell me about the contract with Globex.", "I want to know the price of the licence", "Is it included",
    "Qual é o prazo do contrato?", "Diga o prazo do contrato.",
]  # fmt: skip
STATEMENTS = [
    "Mi contrato con Acme vence en junio.", "mi coche es rojo", "Marta lleva el contrato de Acme", "Soy celíaco.",
    "Recuerda que mi coche es rojo", "Hola, soy Marta. ¿Cuál es el plazo?", "Priya vive en Pune",
    "Me gusta el café solo", "Globex subió los precios ayer", "I am allergic to nuts", "My flight lands at nine.",
    "Moro em Lisboa", "Tenho dois gatos",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, UtteranceKind.SMALL_TALK) for text in SMALL_TALK),
        *((text, UtteranceKind.QUESTION) for text in QUESTIONS),
        *((text, UtteranceKind.STATEMENT) for text in STATEMENTS),
    ],
)
def test_the_kind_of_what_was_said(text: str, kind: UtteranceKind) -> None:
    assert kind_of(text) is kind
    assert is_small_talk(text) is (kind is UtteranceKind.SMALL_TALK)


def test_what_speaks_of_something() -> None:
    assert content_words("Hola, ¿y el Plazo de entrega del lote 2? Gracias") == ["plazo", "entrega", "lote"]
    assert content_words("¿y en 2025?") == ["2025"]
    assert content_words("¿Qué lleva IT?") == ["lleva", "it"]
    assert content_words("IT IS ON") == []
    assert content_words("¿Y ella?") == []


def test_courtesies_before_and_behind_are_left_out() -> None:
    assert without_courtesies("Hola, vale. ¿Cuánto vale? Gracias.") == ". ¿Cuánto vale"
    assert without_courtesies("¿Cuánto vale?") == "¿Cuánto vale?"
    assert without_courtesies("gracias") == ""


@given(st.text(max_size=300))
def test_any_text_has_a_kind(text: str) -> None:
    assert kind_of(text) in UtteranceKind
    assert without_courtesies(text) in text
