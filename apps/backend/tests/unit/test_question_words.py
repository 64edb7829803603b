"""Question words are no content."""

from __future__ import annotations

import pytest

from ragcorp.infrastructure.extractive.question_words import without_question_words


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
