"""Question words are no content."""

from __future__ import annotations

import pytest

from ragcorp.infrastructure.extractive.question_words import without_names, without_question_words


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("¿Cuál es el plazo?", ["¿", "es", "el", "plazo?"]),
        ("cuantos dias", ["dias"]),
        ("What is REQ-2024-001?", ["is", "REQ-2024-001?"]),
        ("¿Según quién?", ["¿", "?"]),
        ("comedor cómodo", ["comedor", "cómodo"]),
    ],
)
def test_they_go_and_all_else_stays(question: str, left: list[str]) -> None:
    assert without_question_words(question).split() == left


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("Cuál es el sueldo de Teresa Lafarga", ["Cuál", "es", "el", "sueldo", "de"]),
        ("causa de la incidencia INC-3072", ["causa", "de", "la", "incidencia", "-"]),
        ("el teléfono de Ángela", ["el", "teléfono", "de"]),
        ("Acme Corporation", ["Acme"]),
    ],
)
def test_names_and_codes_go_but_for_the_first_word(question: str, left: list[str]) -> None:
    assert without_names(question).split() == left
