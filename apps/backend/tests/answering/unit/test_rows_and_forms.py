"""Which row of a table answers, and the fields of forms."""

from __future__ import annotations

import pytest

from support.answering.passages import PlainTexts

pytestmark = pytest.mark.anyio

BUDGET = """# Presupuesto

| Partida | Importe | % s/ total |
|---|---|---|
| Maquinaria | 21.500,00 € | 44,5 % |
| Envases | 14.250,50 € | 29,5 % |
| TOTAL | 48.350,75 € | |"""

QUARTERS = """# Ventas por trimestre

| | Miles de litros |
|---|---|
| T1 | 38 |
| T2 | 47 |
| T3 | 61 |"""

FORM = """Solicitud de alta de socio
Nombre: Rigoberta Samper
Superficie (ha): 12,75"""


async def test_a_word_in_a_row_says_more_than_in_the_head_of_its_column() -> None:
    answer = await PlainTexts({"presupuesto.md": BUDGET}).ask("¿Cuál es el total del presupuesto?")
    assert answer.text == "«TOTAL», Importe: «48.350,75 €» [1]"


@pytest.mark.parametrize("form", ["tercer trimestre", "T3"])
async def test_a_quarter_in_words_or_as_a_symbol(form: str) -> None:
    answer = await PlainTexts({"ventas.md": QUARTERS}).ask(f"¿Cuántos miles de litros se vendieron en el {form}?")
    assert answer.text == "«T3», Miles de litros: «61» [1]"


async def test_no_row_answers_where_nothing_tells_it_from_the_others() -> None:
    answer = await PlainTexts({"ventas.md": QUARTERS}).ask("¿Cuántos miles de litros se vendieron?")
    assert answer.abstained


async def test_units_by_their_symbols() -> None:
    rows = "| Formato | Palet |\n|---|---|\n| Vidrio 2 l | 240 uds |\n| Lata 5 l | 96 uds |"
    answer = await PlainTexts({"tarifa.md": rows}).ask("¿Cuántas unidades lleva el palet del formato de 5 litros?")
    assert answer.text == "«Lata 5 l», Palet: «96 uds» [1]"


async def test_the_name_in_a_form_is_the_person_who_presents_it() -> None:
    answer = await PlainTexts({"solicitud.md": FORM}).ask("¿Quién presenta la solicitud de alta de socio?")
    assert answer.text == "«Nombre: Rigoberta Samper» [1]"


async def test_a_title_does_not_answer_what_it_does_not_name() -> None:
    answer = await PlainTexts({"solicitud-de-alta.md": FORM}).ask("¿Qué superficie figura en la solicitud de alta?")
    assert answer.text == "«Superficie (ha): 12,75» [1]"


async def test_the_name_of_somebody_else_is_no_applicant() -> None:
    text = "Oferta\nNombre del proveedor: Aceites Jaén SL"
    for question in ("¿Quién es el solicitante?", "¿Quién presenta la solicitud?"):
        assert (await PlainTexts({"oferta.md": text}).ask(question)).abstained


async def test_a_terminal_is_no_quarter() -> None:
    text = "Llegada a la terminal T4 de Barajas a las 9:30."
    answer = await PlainTexts({"viaje.md": text}).ask("¿A qué hora es la llegada del cuarto trimestre?")
    assert answer.abstained
