"""Questions of a noun without a verb are told from those of yes or no."""

from __future__ import annotations

import pytest

from ragcorp.infrastructure.extractive.question import parse_question
from ragcorp.infrastructure.extractive.values import ValueKind as Kind
from support.answering.passages import PlainTexts

pytestmark = pytest.mark.anyio

NOUNS = [
    "¿El precio del contrato Globex?", "¿y el precio?", "¿y el precio? Globex", "¿y el de Globex?",
    "Hola, ¿el precio?", "¿Y la penalización por retraso?", "¿El plazo máximo de entrega?",
    "¿Precio del contrato Globex?", "¿y en agosto?", "¿El número de teléfono de Marta?",
    "The price of the Globex contract?", "And the deadline?", "E o valor?", "O contrato?",
]  # fmt: skip
YES_OR_NO = [
    "¿El contrato Globex incluye soporte?", "¿El precio incluye IVA?", "¿El contrato lo firma Marta?",
    "¿Está incluido?", "¿Esta incluido el IVA?", "¿El plazo no vence?", "¿De verdad vence?",
    "¿En agosto abre el gimnasio?", "¿Incluye IVA?", "¿Con perro se puede?", "¿La tarifa varía?",
    "¿El pago es mensual?", "¿Marta lleva el contrato?", "Is it included?", "¿La licencia la paga Globex?",
    "¿Los domingos abren las oficinas?", "O contrato inclui suporte?",
]  # fmt: skip


@pytest.mark.parametrize("question", NOUNS)
def test_a_noun_asks_for_no_yes(question: str) -> None:
    assert not parse_question(question).asks_yes_or_no


@pytest.mark.parametrize("question", YES_OR_NO)
def test_a_verb_asks_for_yes_or_no(question: str) -> None:
    assert parse_question(question).asks_yes_or_no


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("¿y el precio?", {Kind.AMOUNT}),
        ("¿El plazo de entrega?", {Kind.DURATION}),
        ("The price of the Globex contract?", {Kind.AMOUNT}),
        ("¿El contrato Globex?", set()),
    ],
)
def test_a_noun_asks_for_what_it_names(question: str, kinds: set[Kind]) -> None:
    assert parse_question(question).kinds == kinds


@pytest.mark.parametrize("question", ["¿El precio del contrato Globex?", "¿y el precio? Globex", "¿y el de Globex?"])
async def test_what_is_quoted_for_a_noun_begins_with_no_yes(question: str) -> None:
    contract = PlainTexts({"globex.md": "# Contrato Globex\n\nEl precio del contrato Globex es 500 euros."})
    answer = await contract.ask(question)
    assert answer.text == "«El precio del contrato Globex es 500 euros.» [1]"


async def test_a_question_of_yes_or_no_is_still_decided() -> None:
    contract = PlainTexts({"globex.md": "# Contrato Globex\n\nEl contrato Globex incluye soporte en festivos."})
    answer = await contract.ask("¿El contrato Globex incluye soporte?")
    assert answer.text == "Sí. «El contrato Globex incluye soporte en festivos.» [1]"
