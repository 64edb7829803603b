"""Sections of Markdown."""

from __future__ import annotations

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.infrastructure.structure.text_entities import text_entities
from ragcorp.infrastructure.structure.text_span import TextSpan


def entities(text: str, *, plain: bool = False) -> tuple[TextSpan, ...]:
    return text_entities(text, path="guia.md", plain=plain)


def test_a_section_is_its_heading_and_what_follows_up_to_the_next_of_any_level() -> None:
    text = "Antes.\n\n# Guía\n\nUno.\n\n## Plazo de `entrega`\n\nDos.\n\nPrecio\n------\nTres.\n"
    file, guide, term, price = entities(text)
    assert (file.kind, file.key, file.names, text[file.start : file.end]) == (
        EntityKind.FILE, "guia.md", (), "Antes.\n\n",
    )  # fmt: skip
    assert (guide.key, guide.container, guide.line_start, guide.line_end) == ("guia.md#Guía", None, 3, 13)
    assert text[guide.start : guide.end] == "# Guía\n\nUno.\n\n"
    assert (term.key, term.name, term.names) == (
        "guia.md#Plazo de entrega", "Plazo de entrega", ("heading:plazo de entrega",),
    )  # fmt: skip
    assert (term.container, term.line_start, term.line_end) == ("guia.md#Guía", 7, 10)
    assert (price.key, price.container, price.line_start) == ("guia.md#Precio", "guia.md#Guía", 11)
    assert {entity.kind for entity in (guide, term, price)} == {EntityKind.SECTION}


def test_a_repeated_heading_gets_a_number() -> None:
    keys = [entity.key for entity in entities("# Notas\n\na\n\n# Notas\n\nb\n\n# Notas (2)\n\nc\n\n# Notas\n\nd\n")]
    assert keys == ["guia.md#Notas", "guia.md#Notas (2)", "guia.md#Notas (2) (2)", "guia.md#Notas (3)"]


def test_the_names_of_a_numbered_heading_are_those_with_and_without_its_number() -> None:
    (section,) = entities("## 4.2. Plazo de entrega de la 4.1\n\nx\n")
    assert section.kind is EntityKind.SECTION
    assert section.key == "guia.md#4.2. Plazo de entrega de la 4.1"
    assert set(section.names) == {
        "clause:4.2", "heading:4 2 plazo de entrega de la 4 1", "heading:plazo de entrega de la 4 1",
    }  # fmt: skip


def test_what_only_looks_like_a_heading_is_none() -> None:
    fenced = "---\ntitle: x\n# no\n---\n```\n# no\n```\n\n- # no\n\n    # no\n\n#no\n\n# Sí\n\nx\n"
    assert [entity.key for entity in entities(fenced)] == ["guia.md", "guia.md#Sí"]


def test_a_plain_text_has_no_headings() -> None:
    (file,) = entities("# uno\n\nDos\n===\n", plain=True)
    assert file.kind is EntityKind.FILE


def test_a_long_heading_is_cut_in_its_key() -> None:
    (section,) = entities("# " + "a" * 200 + "\n\nx\n")
    assert section.key == "guia.md#" + "a" * 200


def test_a_blank_text_has_no_entities() -> None:
    assert entities(" \n\t\u200b\n") == ()
