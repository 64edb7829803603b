"""Answers over small documents: which statement, which cell, which version, and when to be silent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.infrastructure.extractive.phrasing import MAX_CHARACTERS, MAX_STATEMENTS
from support.answering.passages import PlainTexts

pytestmark = pytest.mark.anyio


def contract(party: str, price: str, days: str) -> str:
    return f"""# Contrato de almacenaje

## Reunidos

De otra parte, {party}, S.L., con domicilio en la calle del Olmo.

## CLÁUSULA CUARTA. Precio

El Cliente abonará una cuota fija de {price} al mes. El pago se hará a {days} días."""


CONTRACTS = {
    "contrato-norte.md": contract("Conservas Norte", "18.450,00 €", "45"),
    "contrato-sur.md": contract("Jabones Sur", "22.980,00 €", "30"),
}

TARIFF = """# Tarifa de transporte

| Peso tasable | Zona 1 | Zona 2 | Zona 3 |
|---|---|---|---|
| Hasta 50 kg | 14,20 | 18,90 | 23,40 |
| De 51 a 150 kg | 26,80 | 33,15 | 39,60 |
| Palé completo (hasta 1.000 kg) | 83,60 | 101,25 | 121,70 |"""


async def test_look_alike_contracts_are_told_apart_by_their_party() -> None:
    answer = await PlainTexts(CONTRACTS).ask("¿Cuál es la cuota fija que paga Jabones Sur?")
    assert answer.text == "CLÁUSULA CUARTA. Precio: «El Cliente abonará una cuota fija de 22.980,00 € al mes.» [2]"
    assert answer.lines == (("contrato-sur.md", 9, 9),)


async def test_the_clause_is_named() -> None:
    answer = await PlainTexts(CONTRACTS).ask("¿Qué cláusula trata el precio en el contrato de Conservas Norte?")
    assert "CLÁUSULA CUARTA" in answer.text
    assert answer.lines[0][0] == "contrato-norte.md"


async def test_a_cell_under_its_column_and_in_its_range() -> None:
    answer = await PlainTexts({"tarifa.md": TARIFF}).ask("precio de un envio de 120 kg a zona 2")
    assert answer.text == "«De 51 a 150 kg», Zona 2: «33,15» [1]"
    assert answer.lines == (("tarifa.md", 6, 6),)


async def test_the_column_of_the_newest_year() -> None:
    tariff = "| Servicio | Precio 2024 | Precio 2025 |\n|---|---|---|\n| Etiquetado de palés | 0,09 € | 0,11 € |"
    texts = PlainTexts({"tarifa.md": tariff})
    assert (await texts.ask("¿Cuánto cuesta el etiquetado de palés?")).text == (
        "«Etiquetado de palés», Precio 2025: «0,11 €» [1]"
    )
    assert "0,09" in (await texts.ask("¿Cuánto costaba el etiquetado de palés en 2024?")).text


async def test_the_newest_version_answers_and_the_older_one_is_cited() -> None:
    texts = PlainTexts(
        {
            "teletrabajo-v1.md": "# Política de teletrabajo\n\nVersión 1 — vigente desde el 1 de enero de 2022\n\n"
            "Se puede teletrabajar un máximo de dos días por semana.",
            "teletrabajo-v2.md": "# Política de teletrabajo\n\nVersión 2 — vigente desde el 1 de enero de 2025\n\n"
            "Se puede teletrabajar un máximo de tres días por semana.",
        }
    )
    answer = await texts.ask("¿Cuántos días a la semana se puede teletrabajar?")
    assert answer.text == "«Se puede teletrabajar un máximo de tres días por semana.» [2] Antes: [1]"
    assert [n for n, _ in answer.quotes] == [2, 1]


async def test_a_later_message_corrects_an_earlier_one() -> None:
    thread = "De: Ana\nFecha: 2 de junio de 2025\n\nEl listado del traslado son 860 palés.\n\n"
    thread += "De: Ana\nFecha: 5 de junio de 2025\n\nCorrijo el listado: los palés del traslado son 912 palés."
    answer = await PlainTexts({"hilo.txt": thread}).ask("¿Cuántos palés hay en el listado del traslado?")
    assert answer.text.startswith("«Corrijo el listado: los palés del traslado son 912 palés.» [1]")


@pytest.mark.parametrize(
    ("text", "question", "first"),
    [
        ("Un pedido expedido no se puede cancelar.", "¿Se puede cancelar un pedido expedido?", "No."),
        ("El Cliente podrá auditar los controles una vez al año.", "¿Puede el cliente auditar los controles?", "Sí."),
        ("El depósito de amoníaco queda prohibido.", "¿Se permite el depósito de amoníaco?", "No."),
    ],
)
async def test_yes_or_no_by_the_statement_that_decides(text: str, question: str, first: str) -> None:
    answer = await PlainTexts({"a.md": text}).ask(question)
    assert answer.text == f"{first} «{text}» [1]"


async def test_yes_and_no_in_the_language_of_the_question() -> None:
    texts = PlainTexts({"a.md": "The module is included in the plan."})
    assert (await texts.ask("Is the module included in the plan?", language="en")).text.startswith("Yes. «")


async def test_a_part_each() -> None:
    texts = PlainTexts(
        {
            "a.md": "El contrato de suministro finaliza el 30 de septiembre de 2027.",
            "b.md": "El responsable del suministro es don Luis Rey Gil.",
        }
    )
    answer = await texts.ask("¿Qué día finaliza el contrato de suministro y quién es el responsable del suministro?")
    assert "30 de septiembre" in answer.text
    assert "Luis Rey" in answer.text
    assert {name for name, _, _ in answer.lines} == {"a.md", "b.md"}


async def test_a_contract_names_its_plan_and_a_tariff_that_plans_value() -> None:
    texts = PlainTexts(
        {
            "contrato-merinde.md": "# Contrato con Merinde\n\nSe concede el uso en la nube, plan Esencial.",
            "tarifas.md": "# Tarifas\n\n| Concepto | Esencial | Avanzado |\n|---|---|---|\n"
            "| Almacenamiento incluido | 500 GB | 3 TB |",
        }
    )
    answer = await texts.ask("¿Cuánto almacenamiento incluido tiene el plan de Merinde?")
    assert "Esencial: «500 GB» [2]" in answer.text
    assert "3 TB" not in answer.text
    assert {name for name, _, _ in answer.lines} == {"contrato-merinde.md", "tarifas.md"}


@pytest.mark.parametrize(
    "question",
    [
        "¿Cuál es el CIF de Jabones Sur?",  # the names are there, what is asked is not
        "¿Cuál es la cuota fija de Muebles Este?",  # a name that no document holds
        "¿Cuánto cuesta el servicio SV-900?",  # nor the identifier
        "¿Qué teléfono tiene Conservas Norte?",  # nor the value
        "de la que el",
    ],
)
async def test_silent_where_no_document_holds_the_answer(question: str) -> None:
    answer = await PlainTexts(CONTRACTS).ask(question)
    assert (answer.abstained, answer.text, answer.quotes) == (True, "", ())


LINES = st.lists(
    st.sampled_from(
        [
            "El plazo de entrega es de 30 días.",
            f"El plazo de entrega {'muy ' * 120}largo es de 40 días.",
            "| Plazo | Entrega |\n|---|---|\n| entrega urgente | 2 días |",
            "## CLÁUSULA SEXTA. Plazo de entrega",
            "Corrijo: el plazo de entrega pasa a 60 días. El plazo de entrega es firme, de 10 días.",
        ]
    ),
    min_size=1,
    max_size=8,
)


@given(
    documents=st.lists(LINES, min_size=1, max_size=4),
    question=st.sampled_from(
        ["¿Cuál es el plazo de entrega?", "¿Se corrige el plazo de entrega y cuándo es la entrega urgente?"]
    ),
)
async def test_never_more_than_three_statements_and_600_characters(documents: list[list[str]], question: str) -> None:
    texts = PlainTexts({f"{number}.md": "\n\n".join(lines) for number, lines in enumerate(documents)})
    answer = await texts.ask(question)
    assert len(answer.quotes) <= MAX_STATEMENTS == 3
    assert len(answer.text) <= MAX_CHARACTERS == 600
    assert answer.abstained == (not answer.quotes)
    assert all(last - first < 12 for _, first, last in answer.lines)
    again = await texts.ask(question)
    assert again == answer


async def test_a_newer_minute_takes_the_place_of_an_older_one_in_other_words() -> None:
    old = "# Acta\n\n## 5. Jornada de puertas abiertas\n\nLa jornada de puertas abiertas será el domingo 11 de mayo."
    new = "# Acta\n\n## 4. Puertas abiertas\n\nCoincide con la romería. Se pasa al domingo 25 de mayo."
    shown = await PlainTexts({"acta-2025-01-23.md": old, "acta-2025-02-27.md": new}).ask(
        "¿Qué día es la jornada de puertas abiertas?"
    )
    assert "25 de mayo" in shown.text
    assert "11 de mayo" not in shown.text
    assert {name for name, _, _ in shown.lines} == {"acta-2025-01-23.md", "acta-2025-02-27.md"}


async def test_the_newer_version_answers_under_the_same_heading_without_the_words_of_the_question() -> None:
    old = "# Condiciones, edición 4\n\n## 6. Animales\n\nNo se admiten animales, salvo perros guía."
    new = "# Condiciones, edición 5\n\n## 6. Animales\n\nSe admite un animal de hasta 12 kilos por habitación."
    shown = await PlainTexts({"condiciones-2024.md": old, "condiciones-2025.md": new}).ask("¿Se admiten perros guía?")
    assert shown.text.startswith("Sí. «Se admite un animal")


async def test_a_later_message_of_a_thread_holds() -> None:
    thread = (
        "De: Ana Gil\nFecha: 8 de mayo de 2025\n\nEl cierre afecta a 31 intervenciones.\n\n"
        "De: Luis Rey\nFecha: 12 de mayo de 2025\n\nLas intervenciones afectadas por el cierre son 38 en total."
    )
    shown = await PlainTexts({"hilo.txt": thread}).ask("¿Cuántas intervenciones afectadas hay por el cierre?")
    assert "38" in shown.text


async def test_paraphrase_of_one_word_does_not_silence() -> None:
    shown = await PlainTexts(CONTRACTS).ask("¿Cuánto abona de cuota fija Conservas Norte tal como firmamos antaño?")
    assert "18.450,00 €" in shown.text
