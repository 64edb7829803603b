"""Passages cut into statements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.infrastructure.extractive.statements import SIGNING, Cell, is_clause_heading, statements

THREAD = """De: Ana Gil
Fecha: lunes, 2 de junio de 2025
Asunto: Traslado

Son 860 palés. Se hará el día 14.

De: Luis Rey
Fecha: martes, 3 de junio de 2025

Corrijo: son 912 palés."""


def test_sentences_with_what_introduces_them() -> None:
    results = {statement.text: statement.lead for statement in statements(THREAD)}
    assert results["Son 860 palés."] == "De: Ana Gil Fecha: lunes, 2 de junio de 2025 Asunto: Traslado"
    assert results["Corrijo: son 912 palés."] == "De: Luis Rey Fecha: martes, 3 de junio de 2025"


def test_rows_have_the_heads_of_their_columns() -> None:
    (row,) = statements("| Servicio | Precio |\n|---|---|\n| Etiquetado | 0,11 € |")
    assert row.cells == (Cell(header="Servicio", text="Etiquetado"), Cell(header="Precio", text="0,11 €"))
    assert row.line == 2


def test_a_label_stays_with_what_it_labels() -> None:
    texts = [statement.text for statement in statements("Artículo 5. El máximo es de tres días. No hay prórroga.")]
    assert texts == ["Artículo 5. El máximo es de tres días. No hay prórroga."]
    long = f"Artículo 5. El máximo es de tres días. {'Consta. ' * 30}"
    assert statements(long)[0].text == "Artículo 5. El máximo es de tres días."
    assert [item.text for item in statements("El Sr. Gil firma. Consta.")] == ["El Sr. Gil firma.", "Consta."]


def test_headings_of_plain_text() -> None:
    results = statements("CLÁUSULA SEXTA. Soporte\n\nEl soporte es diario.\n\n2. TURNO DE NOCHE\n\nSe crea.")
    assert [(item.text, item.is_heading, item.heading) for item in results] == [
        ("CLÁUSULA SEXTA. Soporte", True, ""),
        ("El soporte es diario.", False, "CLÁUSULA SEXTA. Soporte"),
        ("2. TURNO DE NOCHE", True, ""),
        ("Se crea.", False, "2. TURNO DE NOCHE"),
    ]


def test_ordinals_and_numbers_head_clauses_but_no_items_of_a_list() -> None:
    results = statements("Sexta. Consumo previsto.\nSerán 590 MWh.\n4. Puertas abiertas\nSe pasa al domingo.")
    assert [item.text for item in results if item.is_heading] == ["Sexta. Consumo previsto.", "4. Puertas abiertas"]
    assert results[-1].heading == "4. Puertas abiertas"
    assert not any(item.is_heading for item in statements("1. Abra la tapa\n2. Pulse el botón\n3. Espere"))
    assert is_clause_heading("Décima. Origen renovable")
    assert not is_clause_heading("Precios de 2025")


def test_a_place_and_a_date_alone_are_those_of_the_signing() -> None:
    (line,) = statements("En Vallehondo, a 14 de noviembre de 2024.")
    assert line.implied == SIGNING
    (other,) = statements("En Vallehondo, a 14 de noviembre de 2024, se reúnen.")
    assert not other.implied


@given(st.text(alphabet="ab A.\n|-#*1:«»", max_size=300))
def test_each_is_a_span_of_its_passage_in_order(content: str) -> None:
    results = statements(content)
    end = 0
    for item in results:
        start = content.find(item.text, end)
        assert start >= end
        assert content.count("\n", 0, start) <= item.line
        assert item.text in content.split("\n")[item.line]
        end = start + len(item.text)
