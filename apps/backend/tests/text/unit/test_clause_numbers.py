"""Numbers of clauses in figures, roman numerals and words."""

from __future__ import annotations

import pytest

from ragcorp.domain.text.clause_numbers import clause_numbers, enclosing_numbers, number_at
from support.structure.clause_number import clause_number

UNITS_ES = ["primera", "segunda", "tercera", "cuarta", "quinta", "sexta", "séptima", "octava", "novena"]
TENS_ES = [
    "décima", "vigésima", "trigésima", "cuadragésima", "quincuagésima", "sexagésima", "septuagésima", "octogésima",
    "nonagésima",
]  # fmt: skip
UNITS_PT = ["primeira", "segunda", "terceira", "quarta", "quinta", "sexta", "sétima", "oitava", "nona"]
TENS_PT = [
    "décima", "vigésima", "trigésima", "quadragésima", "quinquagésima", "sexagésima", "septuagésima", "octogésima",
    "nonagésima",
]  # fmt: skip
TEENS_EN = [
    "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth",
]  # fmt: skip
UNITS_EN = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
TENS_EN = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ROUND_EN = ["twentieth", "thirtieth", "fortieth", "fiftieth", "sixtieth", "seventieth", "eightieth", "ninetieth"]


def romance(number: int, tens: list[str], units: list[str]) -> str:
    ten, one = divmod(number, 10)
    return " ".join(word for word in (tens[ten - 1] if ten else "", units[one - 1] if one else "") if word)


def english(number: int) -> str:
    if number < 10:
        return UNITS_EN[number - 1]
    if number < 20:
        return TEENS_EN[number - 10]
    ten, one = divmod(number, 10)
    return f"{TENS_EN[ten - 2]}-{UNITS_EN[one - 1]}" if one else ROUND_EN[ten - 2]


def roman(number: int) -> str:
    tens = ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"]
    ones = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
    return tens[number // 10] + ones[number % 10]


@pytest.mark.parametrize("number", range(1, 100))
def test_every_number_to_ninety_nine_in_three_languages_and_in_roman(number: int) -> None:
    spanish = romance(number, TENS_ES, UNITS_ES)
    wanted = str(number)
    spelt = [
        spanish,
        spanish.upper(),
        spanish.replace("a ", "o ").removesuffix("a") + "o",
        romance(number, TENS_PT, UNITS_PT),
        english(number),
        english(number).replace("-", " ").title(),
    ]
    assert [clause_number(word) for word in spelt] == [wanted] * len(spelt)
    assert clause_number(roman(number), expected=True) == wanted
    assert clause_number(roman(number).lower(), expected=True) == (None if number == 50 else wanted)
    assert clause_number(f"{number}.ª") == clause_number(f"{number}") == clause_number(f"{number}.-") == wanted


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("segunda bis", "2 bis"),
        ("SEGUNDA.- ", "2"),
        ("Primera.", "1"),
        ("vigesimoprimera", "21"),
        ("VIGESIMOPRIMERA", "21"),
        ("decimoctava", "18"),
        ("décimo octava", "18"),
        ("undécima", "11"),
        ("duodécimo", "12"),
        ("setena", "7"),
        ("única", "unica"),
        ("ÚNICO", "unica"),
        ("4.2", "4.2"),
        ("4.2.", "4.2"),
        ("04.02", "4.2"),
        ("4.2.1.a", "4.2.1.a"),
        ("6.1 b)", "6.1.b"),
        ("14 bis", "14 bis"),
        ("14bis", "14 bis"),
        ("14 BIS", "14 bis"),
        ("14 quáter", "14 quater"),
        ("14 bis.2", "14 bis.2"),
        ("1.902", "1902"),
        ("234-1", "234-1"),
        ("2a", "2"),
        ("1er", "1"),
        ("2nd", "2"),
        ("n.º 4", "4"),
        ("IV", "4"),
        ("IV.2", "4.2"),
    ],
)
def test_a_number_has_one_form(text: str, number: str) -> None:
    assert clause_number(text) == number
    assert clause_number(number) == number, "it is its own form"


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "plazo", "I", "v", "C", "dos", "cuarta, apartado 2", "14/2024", "14.05.2024", "1.000.000", "3,5",
        "14:30",
        "12345", "MIL", "mix", "segundas", "segunda parte", "4.2 Plazo", "3%", "bis", "2.ª planta", "\u0662",
    ],
)  # fmt: skip
def test_what_is_more_or_less_than_a_number_is_none(text: str) -> None:
    assert clause_number(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("I", "1"), ("V", "5"), ("x", "10"), ("C", "100"), ("D", "500"), ("iv", "4"), ("dos", "2"), ("Two", "2"),
        ("treinta y uno", "31"), ("vinte e um", "21"), ("twenty-one", "21"), ("veintidós", "22"), ("quince", "15"),
    ],
)  # fmt: skip
def test_where_a_number_is_expected_a_letter_and_a_cardinal_are_numbers(text: str, number: str) -> None:
    assert clause_number(text) is None
    assert clause_number(text, expected=True) == number


def test_a_number_ends_where_the_text_goes_on() -> None:
    result = number_at("según la cláusula vigésima primera del contrato", 18)
    assert result is not None
    assert (result.number, result.start, result.end) == ("21", 18, 34)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3, 4 y 5 del contrato", ["3", "4", "5"]),
        ("14 y 15", ["14", "15"]),
        ("3 a 5", ["3", "4", "5"]),
        ("3-5", ["3", "4", "5"]),
        ("100 a 300", ["100", "300"]),
        ("segunda y la tercera", ["2", "3"]),
        ("4.2, 4.3 o 5", ["4.2", "4.3", "5"]),
        ("cuarta, apartado 2", ["4"]),
        ("3 y medio", ["3"]),
        ("a que se refiere", []),
    ],
)
def test_lists_and_ranges(text: str, numbers: list[str]) -> None:
    assert [result.number for result in clause_numbers(text)] == numbers


def test_a_part_stands_in_the_numbers_before_its_own() -> None:
    assert enclosing_numbers("4.2.1") == ("4.2", "4")
    assert enclosing_numbers("4") == ()
