"""What a document is called that was given no title."""

from __future__ import annotations

import pytest

from ragcorp.application.documents.preparation import document_title
from ragcorp.application.validation.attribute_checks import MAX_TITLE


@pytest.mark.parametrize(
    ("found", "external_id", "title"),
    [
        ("Contrato marco", "contratos/marco-acme_2025.md", "Contrato marco (marco-acme_2025)"),
        ("Contrato marco con Acme", "contratos/marco-acme.md", "Contrato marco con Acme"),
        ("", "contratos/marco-acme_2025.txt", "marco acme 2025"),
        ("Contrato", "4711", "Contrato"),
        ("", "4711", ""),
        ("Acta", ".md", "Acta"),
        ("Acta", "actas/---.md", "Acta"),
    ],
)
def test_a_files_name_is_added_as_far_as_it_says_more(found: str, external_id: str, title: str) -> None:
    assert document_title(found, external_id=external_id) == title


def test_a_title_keeps_to_its_limit() -> None:
    for result in ("", "Título " * 200):
        assert len(document_title(result, external_id="x" * 490 + ".md")) <= MAX_TITLE
