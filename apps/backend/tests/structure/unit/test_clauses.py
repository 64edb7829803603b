"""Clauses and articles of contracts and laws."""

from __future__ import annotations

import pytest

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.infrastructure.structure.text_entities import text_entities
from ragcorp.infrastructure.structure.text_span import TextSpan


def entities(text: str) -> tuple[TextSpan, ...]:
    return text_entities(text, path="d", plain=False)


def keys(text: str) -> list[str]:
    return [entity.key for entity in entities(text)]


CONTRACT = """\
CONTRATO DE SUMINISTRO

ÍNDICE
PRIMERA. Objeto 3
SEGUNDA. Precio ........ 4
TERCERA. Plazo 5

CLÁUSULAS

PRIMERA.- Objeto. El presente contrato regula el suministro descrito en
la cláusula segunda y en el Anexo I, según el artículo 14 de la
Ley 3/2020.

SEGUNDA.- Precio
1. El cliente pagará.
2. El proveedor cobrará 4.2 millones.

Segunda bis. Revisión: cada año.

TERCERA.- Plazo
4.2 millones de euros se pagarán conforme a lo dispuesto en la
Cláusula 4.2. Así consta en el contrato marco.
3.1 Plazo general. Treinta días.
3.2 Plazo especial. Sesenta días.
3.2.1 Urgencias
Un día.

ANEXO I
Tarifas
"""


def test_a_contract_with_bare_ordinals() -> None:
    results = entities(CONTRACT)
    assert [(entity.kind.value, entity.key, entity.container) for entity in results] == [
        ("file", "d", None),
        ("clause", "d#clause 1", None),
        ("clause", "d#clause 2", None),
        ("clause", "d#clause 2 bis", None),
        ("clause", "d#clause 3", None),
        ("clause", "d#clause 3.1", "d#clause 3"),
        ("clause", "d#clause 3.2", "d#clause 3"),
        ("clause", "d#clause 3.2.1", "d#clause 3.2"),
        ("section", "d#ANEXO I", None),
    ]
    assert CONTRACT[results[1].start :].startswith("PRIMERA.- Objeto. El presente")
    assert results[1].names == ("clause:1", "heading:primera objeto", "heading:objeto")
    assert (results[4].line_start, results[4].line_end) == (20, 27)
    assert set(results[8].names) == {
        "heading:anexo i", "heading:anexo 1", "heading:tarifas", "heading:anexo i tarifas",
    }  # fmt: skip


LAW = """\
Ley 5/2024, de 3 de mayo

TÍTULO I
Disposiciones generales

CAPÍTULO I. Objeto

Artículo 1. Objeto.
1. Esta ley regula.
2. Se aplica según el
Artículo 14 de la Ley 39/2015.

Artículo 2.- Ámbito
Texto.

CAPÍTULO II
ARTÍCULO 3 BIS. Deberes
Art. 4.- Otros.

TÍTULO II
Artículo 5
Fin.

Disposición adicional primera. Plazos.
Texto.
Disposición final única. Entrada en vigor.
Texto.
"""


def test_a_law() -> None:
    assert [(entity.kind.value, entity.key, entity.container) for entity in entities(LAW)] == [
        ("file", "d", None),
        ("section", "d#TÍTULO I", None),
        ("section", "d#CAPÍTULO I. Objeto", "d#TÍTULO I"),
        ("article", "d#article 1", "d#CAPÍTULO I. Objeto"),
        ("article", "d#article 2", "d#CAPÍTULO I. Objeto"),
        ("section", "d#CAPÍTULO II", "d#TÍTULO I"),
        ("article", "d#article 3 bis", "d#CAPÍTULO II"),
        ("article", "d#article 4", "d#CAPÍTULO II"),
        ("section", "d#TÍTULO II", None),
        ("article", "d#article 5", "d#TÍTULO II"),
        ("section", "d#Disposición adicional primera. Plazos", None),
        ("section", "d#Disposición final única. Entrada en vigor", None),
    ]


def test_a_heading_that_is_a_clause_is_one_entity_with_both_names() -> None:
    text = "# Contrato\n\n## Cláusulas\n\n### Cláusula segunda. Precio\n\nCien.\n\n### 4.2 Plazo\n\nDos.\n\n## Firmas\n"
    results = entities("Las partes acuerdan.\n" + text)
    assert [(entity.key, entity.container) for entity in results[1:]] == [
        ("d#Contrato", None),
        ("d#Cláusulas", "d#Contrato"),
        ("d#clause 2", "d#Cláusulas"),
        ("d#clause 4.2", "d#Cláusulas"),
        ("d#Firmas", "d#Contrato"),
    ]
    assert results[3].kind is EntityKind.CLAUSE
    assert results[3].names == ("clause:2", "heading:clausula segunda precio", "heading:precio")
    assert results[3].name == "Cláusula segunda. Precio"


def test_bold_numbered_paragraphs_of_an_english_contract() -> None:
    text = (
        "# Service Agreement\n\nThe parties agree.\n\n**1. Definitions.** Words.\n\n**2. Fees.** The fee.\n\n"
        "2.1 Invoices. Monthly.\n\n2.2 Interest. None.\n\n**3. Term.** Two years.\n\nSection 4 - Law\nSpain.\n\n"
        "See Section 2.1 above.\n"
    )
    assert keys(text) == [
        "d#Service Agreement", "d#clause 1", "d#clause 2", "d#clause 2.1", "d#clause 2.2", "d#clause 3", "d#clause 4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("CLÁUSULA SEGUNDA.- Precio", "d#clause 2"),
        ("Cláusula 4.2", "d#clause 4.2"),
        ("Cláusula n.º 4: Precio", "d#clause 4"),
        ("Clausula IV - Precio", "d#clause 4"),
        ("Clause 4.2 Delivery", "d#clause 4.2"),
        ("**CLÁUSULA 2.ª** Precio", "d#clause 2"),
        ("ESTIPULACIÓN PRIMERA. Objeto", "d#clause 1"),
        ("Artículo 14.- Plazo", "d#article 14"),
        ("Artículo 14. El plazo será de treinta días.", "d#article 14"),
        ("Art. 14", "d#article 14"),
        ("ARTÍCULO 14 BIS", "d#article 14 bis"),
        ("Artículo 1.902. Daños", "d#article 1902"),
        ("Artigo 5.º Objeto", "d#article 5"),
        ("Article 5", "d#article 5"),
        ("Section 3. Payment", "d#clause 3"),
        ("Annex B. Prices", "d#Annex B. Prices"),
        ("ANEXO: Tarifas", "d#ANEXO: Tarifas"),
    ],
)
def test_a_line_that_begins_a_part(line: str, key: str) -> None:
    assert keys(f"Texto anterior.\n\n{line}\n\nTexto posterior.\n") == ["d", key]


@pytest.mark.parametrize(
    "line",
    [
        "Según la cláusula 4.2, el precio es fijo.",
        "cláusula 4.2. Precio",
        "Cláusula 4.2 del contrato marco",
        "Cláusula 4.2, apartado 3",
        "Cláusulas 4 y 5",
        "Artículo 14 de la Ley 3/2020, de 18 de septiembre",
        "Artículo 14 LOPD: véase el registro",
        "Artículos 14 y 15",
        "- Artículo 14. Plazo",
        "| Artículo 14. | Plazo |",
        "Cláusula 4.2 Plazo ........ 12",
        "Anexo al contrato de 2024",
        "Segunda parte del informe",
        "Segunda. Suelta",
        "4.2 Plazo suelto",
        "1. Uno\n2. Dos\n3. Tres",
        "14 de mayo de 2024",
        "PRIMERO.- Que es dueño.\n\nSEGUNDO.- Que vende.",
        "según lo que dispone con detalle para estos casos la\nCláusula 4.2. Así se hará",
        "```\nCLÁUSULA PRIMERA. x\n```",
    ],
)
def test_a_line_that_only_mentions_one(line: str) -> None:
    assert keys(f"Texto anterior.\n\n{line}\n\nTexto posterior.\n") == ["d"]


@pytest.mark.parametrize("gap", ["\n\n", "\n"])
def test_chapters_of_a_numbered_text_behind_their_parts(gap: str) -> None:
    text = gap.join(
        ["Manual", "1. Instalación", "1.1 Requisitos", "X.", "1.2 Pasos", "Y.", "2. Uso", "Z.", "3. Soporte", "W."]
    )
    results = entities(text)
    assert [(entity.key, entity.container) for entity in results[1:]] == [
        ("d#clause 1", None), ("d#clause 1.1", "d#clause 1"), ("d#clause 1.2", "d#clause 1"), ("d#clause 2", None),
        ("d#clause 3", None),
    ]  # fmt: skip
    assert text[results[3].start : results[3].end].split() == ["1.2", "Pasos", "Y."]


def test_clauses_whose_text_stands_in_the_line_of_their_number() -> None:
    text = (
        "Mutual NDA\n\n1. Definitions. Words mean things.\n\n2. Duties. The recipient shall:\n\n2.1 Keep it.\n\n"
        "2.2 Return it.\n\n3. Term. This lasts two years.\n\n4. Governing Law. Spain.\n"
    )
    assert keys(text) == [
        "d", "d#clause 1", "d#clause 2", "d#clause 2.1", "d#clause 2.2", "d#clause 3", "d#clause 4",
    ]  # fmt: skip


def test_a_chapter_does_not_go_on_counting_the_list_above_it() -> None:
    steps = "Haga esto:\n\n1. Abra la caja.\n2. Cierre la caja.\n"
    text = f"1. Inicio\n\n1.1 Caja\n\n{steps}\n2. Uso\n\n2.1 Tapa\n\n{steps}\n3. Soporte\n\nLlame.\n\n4. Fin\n\nYa.\n"
    assert keys(text) == [
        "d#clause 1", "d#clause 1.1", "d#clause 2", "d#clause 2.1", "d#clause 3", "d#clause 4",
    ]  # fmt: skip


def test_many_lists_do_not_end_the_chapters() -> None:
    lists = "Pasos:\n\n1. Abra.\n2. Cierre.\n\n" * 12
    assert keys(f"1. Inicio\n\n1.1 Caja\n\n1.2 Tapa\n\n{lists}2. Uso\n\nZ.\n") == [
        "d#clause 1", "d#clause 1.1", "d#clause 1.2", "d#clause 2",
    ]  # fmt: skip


def test_a_list_below_numbered_headings_is_no_part() -> None:
    text = "# Guía\n\n## 1. Inicio\n\n1. Abra.\n2. Cierre.\n\n### 1.1 Más\n\n1. Uno.\n2. Dos.\n3. Tres.\n\n## 2. Uso\n"
    assert keys(text) == ["d#Guía", "d#1. Inicio", "d#1.1 Más", "d#2. Uso"]


@pytest.mark.parametrize(
    ("text", "key", "name"),
    [
        ("CAPÍTULO PRIMERO\nDisposiciones comunes\n\nTexto.", "d#CAPÍTULO PRIMERO", "heading:disposiciones comunes"),
        ("CAPÍTULO I\n\nDisposiciones comunes\n\nTexto.", "d#CAPÍTULO I", "heading:disposiciones comunes"),
        ("Artículo 402\nServidumbre de acceso\n\nTexto.", "d#article 402", "heading:servidumbre de acceso"),
        ("Artículo 402.\nServidumbre de acceso.\nTexto del dueño.", "d#article 402", "heading:servidumbre de acceso"),
        ("CLÁUSULA SEGUNDA\nDuración\nDos años.", "d#clause 2", "heading:duracion"),
        ("## Cláusula 2\n\n**Duración**\n\nDos años.", "d#clause 2", "heading:duracion"),
        ("ANEXO II\nLista de precios", "d#ANEXO II", "heading:lista de precios"),
        ("TÍTULO PRELIMINAR\nDel objeto\n\nTexto.", "d#TÍTULO PRELIMINAR", "heading:titulo preliminar"),
        ("TÍTULO PRELIMINAR\nDel objeto\n\nTexto.", "d#TÍTULO PRELIMINAR", "heading:del objeto"),
    ],
)
def test_a_title_in_the_line_below_is_a_name(text: str, key: str, name: str) -> None:
    (result,) = [entity for entity in entities(f"Preámbulo.\n\n{text}\n") if entity.key == key]
    assert name in result.names


@pytest.mark.parametrize(
    "text",
    [
        "Artículo 404\nEl plazo de entrega será de treinta\ndías naturales.",
        "Artículo 404\n\nSe hará así.",
        "Artículo 404\n\nUn párrafo breve\nque sigue aquí.",
        "Artículo 404\nArtículo 405",
        "Artículo 404\n- Una lista",
        "Artículo 404\n| Tabla | Dos |",
        f"Artículo 404. El plazo será de treinta días{' desde que se pida' * 5}\nEntrega\nTexto.",
    ],
)
def test_a_line_below_that_is_no_title(text: str) -> None:
    result = next(entity for entity in entities(f"Preámbulo.\n\n{text}\n") if entity.key == "d#article 404")
    assert {name for name in result.names if name.startswith("heading:")} == {"heading:articulo 404"}


def test_of_a_table_of_contents_and_the_text_the_text_counts() -> None:
    text = (
        "Artículo 1. Objeto\nArtículo 2. Plazo\nArtículo 3. Fin\nPreámbulo del texto que sigue.\n\n"
        "Artículo 1. Objeto\nRegula lo suyo.\n\nArtículo 2. Plazo\nDos días.\n\nArtículo 3. Fin\nYa.\n"
    )
    results = entities(text)
    assert [entity.key for entity in results] == ["d", "d#article 1", "d#article 2", "d#article 3"]
    assert text[results[1].start : results[1].end] == "Artículo 1. Objeto\nRegula lo suyo.\n\n"


def test_a_number_that_comes_again_with_text_of_its_own_is_kept() -> None:
    text = "CLÁUSULA 1. Objeto\nUno.\n\nANEXO I\n\nCLÁUSULA 1. Objeto\nOtro.\n"
    assert keys(text) == ["d#clause 1", "d#ANEXO I", "d#clause 1 (2)"]
