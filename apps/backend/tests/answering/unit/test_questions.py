"""What a question asks for: kinds of values, yes or no, parts, names."""

from __future__ import annotations

import pytest

from ragcorp.infrastructure.extractive.question import parse_question, parts_of
from ragcorp.infrastructure.extractive.values import ValueKind as Kind


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("¿Cuánto cuesta el plan Básico?", {Kind.AMOUNT}),
        ("a cuanto se paga el kilometro", {Kind.AMOUNT}),
        ("¿Cuánto tiempo se guardan las copias?", {Kind.DURATION}),
        ("¿Con cuánta antelación hay que avisar?", {Kind.DURATION}),
        ("cuando acabe el contrato, cuantos dias tengo", {Kind.DURATION}),
        ("¿Qué día se firmó?", {Kind.DATE}),
        ("¿Cuándo abre el centro?", {Kind.DATE, Kind.TIME, Kind.DURATION}),
        ("¿A qué hora cierra?", {Kind.TIME}),
        ("¿Quién es el responsable?", {Kind.PERSON}),
        ("¿Qué correo usa Soporte?", {Kind.EMAIL}),
        ("¿Qué RPO tiene el correo electrónico?", set()),
        ("¿Qué código tiene el recargo?", {Kind.CODE}),
        ("¿Cuántas personas trabajan en Vigo?", {Kind.QUANTITY}),
        ("¿Qué descuento tiene el pago anual?", {Kind.PERCENT, Kind.AMOUNT}),
        ("What is the yearly price of the licence?", {Kind.AMOUNT}),
        ("How long are backups kept?", {Kind.DURATION}),
        ("Quanto tempo dura a garantia?", {Kind.DURATION}),
        ("¿Cada cuánto se limpia el filtro?", {Kind.FREQUENCY}),
        ("How often is the filter changed?", {Kind.FREQUENCY}),
        ("¿Cuántas veces puedo presentarme?", {Kind.FREQUENCY, Kind.QUANTITY}),
        ("¿En qué mes llega el certificado?", {Kind.MONTH}),
        ("¿En qué días se celebra?", {Kind.DATE}),
        ("¿A quién llamo si se repite?", {Kind.PERSON, Kind.NAME}),
        ("¿Cuánto aporta quien entra de socio?", {Kind.AMOUNT, Kind.PERCENT, Kind.DURATION, Kind.QUANTITY}),
        ("¿Qué significa el error 4092?", set()),
        ("¿Qué cláusula trata el precio?", set()),
    ],
)
def test_kinds_of_values(question: str, kinds: set[Kind]) -> None:
    assert parse_question(question).kinds == kinds


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("¿Se puede cancelar un pedido que ya aparece como Expedido?", True),
        ("puede Dorvalia auditar la seguridad?", True),
        ("Is the module included?", True),
        ("¿A los juzgados de qué ciudad se someten?", False),
        ("cuando abre", False),
        ("Qué hay que hacer cuando falla", False),
    ],
)
def test_yes_or_no(question: str, expected: bool) -> None:
    assert parse_question(question).asks_yes_or_no is expected


def test_parts_are_joined_by_a_question_word() -> None:
    assert parts_of("¿Hacéis entregas en sábado y con qué recargo?") == [
        "¿Hacéis entregas en sábado",
        "con qué recargo?",
    ]
    assert parts_of("¿Cuánto vale el palé y mes?") == ["¿Cuánto vale el palé y mes?"]
    assert parts_of("¿Se recupera, y cuánto?") == ["¿Se recupera, y cuánto?"]


def test_what_is_asked_about() -> None:
    assert parse_question("¿De qué marca son las carretillas?").focus == "marca"
    assert parse_question("¿Qué día se firmó?").focus is None
    assert parse_question("¿Cuánto paga?").focus is None
    assert parse_question("a que temperatura se guardan").focus == "temperatura"


def test_names_and_months() -> None:
    assert parse_question("How much can I load?").names == ()
    assert parse_question("¿Cuánto pagó Ana Gil en mayo por la TR-40?").names == ("Ana", "Gil", "mayo", "TR-40")


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("error AV-1013 de Archivela 4.3", ("av-1013", "4.3")),
        ("envío de 120 kg a zona 2", ("zona 2", "120 kg")),
        ("¿Cuándo sale Termilia 5?", ("termilia 5",)),
        ("el error 4092 en 2025", ("4092",)),
        ("una compra de 20.000 euros", ("20.000 euros",)),
    ],
)
def test_phrases_that_the_text_itself_must_hold(question: str, phrases: tuple[str, ...]) -> None:
    assert parse_question(question).phrases == phrases
