"""Words without content are not answered, though a passage may say them; a greeting is looked for."""

from __future__ import annotations

import pytest

from support.answering.passages import PlainTexts

pytestmark = pytest.mark.anyio

LETTER = "Gracias por todo. Hola a todos. Sí, no hay de qué. Ella es de Acme. El plazo del contrato Acme es de 30 días."
MAIL = "Thanks, ok, yes. Hello everybody. Vale, perfecto. El error 4092 es de red. Lo lleva IT."


@pytest.mark.parametrize(
    "text",
    [
        "no", "y", "a", "¿Y ella?", "¿Cuándo?", "¿Quién?", "",
    ],
)  # fmt: skip
async def test_they_are_not_answered(text: str) -> None:
    answer = await PlainTexts({"a": LETTER, "b": MAIL}).ask(text)
    assert (answer.abstained, answer.text) == (True, "")


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("hola", "Hola a todos."),
        ("4092", "El error 4092 es de red."),
        ("¿Qué es IT?", "Lo lleva IT."),
        ("plazo", "30 días."),
    ],
)
async def test_little_may_still_be_asked(question: str, quoted: str) -> None:
    answer = await PlainTexts({"a": LETTER, "b": MAIL}).ask(question)
    assert quoted in answer.text
