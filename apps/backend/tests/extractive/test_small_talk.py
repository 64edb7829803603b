"""Words that ask for nothing are not answered, though a passage may say them."""

from __future__ import annotations

import pytest
from extractive.texts import PlainTexts

pytestmark = pytest.mark.anyio

LETTER = "Gracias por todo. Hola a todos. Sí, no hay de qué. Ella es de Acme. El plazo del contrato Acme es de 30 días."
MAIL = "Thanks, ok, yes. Hello everybody. Vale, perfecto. El error 4092 es de red. Lo lleva IT."


@pytest.mark.parametrize(
    "text",
    [
        "gracias", "no", "hola", "Sí", "y", "a", "¿Y ella?", "vale", "ok", "Thanks!", "hello", "Buenos días",
        "¿Cuándo?", "perfecto", "Muchas gracias por la ayuda", "yes", "¿Quién?", "olá", "",
    ],
)  # fmt: skip
async def test_small_talk_is_not_answered(text: str) -> None:
    answer = await PlainTexts({"a": LETTER, "b": MAIL}).ask(text)
    assert (answer.abstained, answer.text) == (True, "")


@pytest.mark.parametrize(
    ("question", "quoted"),
    [("4092", "El error 4092 es de red."), ("¿Qué es IT?", "Lo lleva IT."), ("plazo", "30 días.")],
)
async def test_little_may_still_be_asked(question: str, quoted: str) -> None:
    answer = await PlainTexts({"a": LETTER, "b": MAIL}).ask(question)
    assert quoted in answer.text
