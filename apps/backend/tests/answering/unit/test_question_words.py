"""Question words and helping words are no content."""

from __future__ import annotations

import pytest

from ragcorp.infrastructure.extractive.question import without_question_words


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("¿Cuál es el plazo?", ["¿", "plazo?"]),
        ("cuantos dias", ["dias"]),
        ("What is REQ-2024-001?", ["REQ-2024-001?"]),
        ("¿Según quién?", ["¿", "?"]),
        ("comedor cómodo", ["comedor", "cómodo"]),
        ("¿Puedo pagar a plazos?", ["¿", "pagar", "plazos?"]),
        ("price of model A and of zone M", ["price", "model", "A", "zone", "M"]),
    ],
)
def test_they_go_and_all_else_stays(question: str, left: list[str]) -> None:
    assert without_question_words(question).split() == left
