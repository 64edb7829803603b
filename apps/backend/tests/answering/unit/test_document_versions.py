"""Families of documents, and which one holds now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcorp.domain.documents import Chunk
from ragcorp.infrastructure.extractive.versions import changes, date_in, same_family, version_of
from support.answering.passages import PlainTexts


def chunk(name: str, text: str = "", title: str = "") -> Chunk:
    return replace(PlainTexts({name: text}).passages[0].chunk, title=title)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("politicas/teletrabajo-v1-derogada.html", "politicas/teletrabajo-v2.md", True),
        ("actas/acta-comite-2025-03-18.md", "actas/acta-comite-2025-04-22.txt", True),
        ("contrato-norte.md", "contrato-sur.md", False),
        ("a/acta-2025.md", "b/acta-2026.md", False),
        ("2024.md", "2025.md", False),
    ],
)
def test_names_but_for_versions_and_dates_make_a_family(one: str, other: str, expected: bool) -> None:
    assert same_family(chunk(one), chunk(other)) is expected


def test_equal_titles_make_one_only_with_a_version_in_each() -> None:
    assert not same_family(
        chunk("norte.md", title="Contrato de almacenaje"), chunk("sur.md", title="Contrato de almacenaje")
    )
    assert same_family(chunk("a.md", title="Política (versión 1)"), chunk("b.md", title="Política (versión 2)"))


def test_in_force_then_version_then_date() -> None:
    repealed = version_of(chunk("p-v3-derogada.md"), "Versión 3, derogada")
    first = version_of(chunk("p-v1.md"), "Vigente desde el 1 de mayo de 2026")
    second = version_of(chunk("p-v2.md"), "Vigente desde el 1 de enero de 2025")
    march, april = version_of(chunk("acta-2025-03-18.md"), ""), version_of(chunk("acta-2025-04-22.md"), "")
    assert first.is_newer(repealed)
    assert second.is_newer(first)
    assert april.is_newer(march)
    assert not march.is_newer(april)
    unknown = version_of(chunk("acta.md"), "")
    assert not unknown.is_newer(march)
    assert not march.is_newer(unknown)


def test_the_version_of_something_else_is_not_the_documents() -> None:
    assert version_of(chunk("acta.md"), "1. Estado de la versión 4.3").version == ()
    assert version_of(chunk("acta.md"), "Norte, S.L. — Versión 2.1 — En vigor").version == (2, 1)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("el 3 de junio de 2025", (2025, 6, 3)),
        ("acta-2025-04-22", (2025, 4, 22)),
        ("5/12/2024", (2024, 12, 5)),
        ("cd-2026-01", (2026, 1, 0)),
        ("sin fecha", None),
    ],
)
def test_dates(text: str, date: tuple[int, int, int] | None) -> None:
    assert date_in(text) == date


def test_what_says_that_something_changed() -> None:
    assert changes("Se retrasa la publicación, que pasa del 17 de junio al 8 de julio.")
    assert changes("Corrijo mi primer mensaje.")
    assert changes("Las obras se aplazan al 12 de enero.")
    assert changes("La entrada baja a 3,20 €.")
    assert not changes("El plazo es de 30 días.")
