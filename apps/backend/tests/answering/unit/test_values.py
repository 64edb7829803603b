"""Values in text, and ranges that hold a number."""

from __future__ import annotations

import pytest

from ragcorp.infrastructure.extractive.scoring import LOOSE, value_strength
from ragcorp.infrastructure.extractive.statements import statements
from ragcorp.infrastructure.extractive.values import OPEN, found_values, range_match
from ragcorp.infrastructure.extractive.values import ValueKind as Kind


@pytest.mark.parametrize(
    ("kind", "text", "values"),
    [
        (
            Kind.AMOUNT,
            "Cuesta 18.450,00 €, o EUR 22.980, o dos mil euros.",
            ["18.450,00 €", "eur 22.980", "dos mil euros"],
        ),
        (Kind.PERCENT, "El 1,5 % y el quince por ciento.", ["1,5 %", "quince por ciento"]),
        (Kind.DURATION, "En 30 días o en cuarenta y cinco minutos.", ["30 dias", "cuarenta y cinco minutos"]),
        (Kind.DATE, "El 1 de marzo de 2024, el 15/02/2025 y los lunes.", ["1 de marzo", "15/02/2025", "lunes"]),
        (
            Kind.FREQUENCY,
            "Cada trimestre, una vez al año o a diario.",
            ["cada trimestre", "una vez al año", "a diario"],
        ),
        (Kind.MONTH, "Se entrega en abril.", ["abril"]),
        (Kind.QUANTITY, "Se paga el 5 % o 40 euros por 12 bultos.", ["12"]),
        (Kind.TIME, "De 7:00 a 17:30.", ["7:00", "17:30"]),
        (Kind.EMAIL, "Escriba a ana.gil@norte.example.", ["ana.gil@norte.example."]),
        (Kind.CODE, "La nota NA-25-0217 y la red BRU-RF, por 5.000 €.", ["na-25-0217", "BRU-RF"]),
        (Kind.PERSON, "Firma doña Rocío Bandera Gil por la empresa.", ["doña Rocío", "Bandera Gil"]),
    ],
)
def test_found(kind: Kind, text: str, values: list[str]) -> None:
    assert found_values(text, kind) == values


@pytest.mark.parametrize(
    ("phrase", "row", "expected"),
    [
        ("120 kg", "de 51 a 150 kg | 26,80", 1.0),
        ("120 kg", "hasta 50 kg | 14,20", 0.0),
        ("120 kg", "pale completo (hasta 1.000 kg)", OPEN),
        ("600 kw", "mas de 500 kw", OPEN),
        ("300 euros", "si la deuda es inferior a 750 €", OPEN),
        ("20.000 euros", "de 15.000,01 € a 60.000,00 € 3 director", 1.0),
        ("120 kg", "de 51 a 150 bultos", 0.0),
    ],
)
def test_ranges(phrase: str, row: str, expected: float) -> None:
    assert range_match(phrase, row) == expected


def test_a_number_counts_for_what_it_stands_beside() -> None:
    asked = "cuantas personas trabajan"
    beside, apart = statements("Trabajan catorce personas.\nHay 14 máquinas nuevas para otras personas.")
    assert value_strength(asked, {Kind.QUANTITY}, beside, None) == 1.0
    assert value_strength(asked, {Kind.QUANTITY}, apart, None) == LOOSE


def test_a_value_of_the_question_is_no_answer() -> None:
    (statement,) = statements("El plan de 30 días es el habitual.")
    assert value_strength("cuanto dura el plan de 30 dias", {Kind.DURATION}, statement, None) == 0.0
