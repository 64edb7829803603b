"""Codes, and what is shown of them."""

from __future__ import annotations

import pytest

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.infrastructure.structure.identifiers import MAX_CONTENT, MAX_IDENTIFIERS, is_code
from ragcorp.infrastructure.structure.text_entities import text_entities
from ragcorp.infrastructure.structure.text_span import TextSpan


def codes(text: str) -> list[TextSpan]:
    results = text_entities(text, path="d", plain=False)
    return [entity for entity in results if entity.kind is EntityKind.IDENTIFIER]


@pytest.mark.parametrize(
    "token",
    [
        "FAC-2024-0113", "ACME/2024/7", "ISO-27001", "B12345678", "12345678Z", "A-38", "TR40", "CAS456", "cas456",
        "REQ_2024_001", "acme/2024/7", "ES2114650100722030876293", "Fac-2024-0113", "P-31",
        "T-9", "TKT-1", "PLC-7/B", "RRHH-ALTA-3", "FRA‑2024‑0999", "BL–2024–031", "E−318", "E‐31",
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "DEADBEEF-4F89-41D3-9A0C-ABCDEFABCDEF",
    ],
)  # fmt: skip
def test_codes(token: str) -> None:
    assert is_code(token)
    assert [result.name for result in codes(f"Consta en {token}.")] == [token]


@pytest.mark.parametrize(
    "token",
    [
        "2024-05-01", "14-mayo-2024", "12/05/2024", "2024-05-01T10:30", "1.200,50", "EUR22.980", "EUR 22.980", "3.500€",
        "+34-912-345-678", "912345678", "v2", "v1.2.3", "1.2.3-beta", "4.2", "A4", "Q1", "UTF-8", "mp3", "3D",
        "covid-19", "3-B", "12/B", "SHA-1", "MPEG-4", "ACME/7", "Tipo-1", "2019–2024", "9–18h", "A1–A3",
        "24-horas", "2-en-1", "10km", "120km/h", "500MB", "9h-18h", "art.14", "pág.123", "2.ª", "auth2.py",
        "https://acme.com/FAC-2024-0113", "https://x.es/?id=FAC-2024-0113", "www.acme24.com/FAC-2024-0113",
        "user-2024@acme.com", "ana@acme-2024.com", r"C:\docs\FAC-2024-0113", "sub_dir/x1.py", "98%",
    ],
)  # fmt: skip
def test_what_is_no_code(token: str) -> None:
    assert codes(f"Consta en {token} desde ayer.") == []


def test_a_code_loses_the_type_of_its_file_and_the_word_after_a_full_stop() -> None:
    assert [result.name for result in codes("Véase FAC-2024-0113.pdf y ISO-27001.El resto")] == [
        "FAC-2024-0113",
        "ISO-27001",
    ]


def test_a_row_is_shown_under_the_header_of_its_table() -> None:
    table = "| Código | Causa |\n|---|---|\n| AV-1001 | Disco |\n| AV-1007 | Red |\n"
    text = f"# Errores\n\nEl AV-1007 es raro.\n\n{table}\nFin.\n"
    first, second = codes(text)
    assert (first.key, first.container) == ("d#AV-1001", "d#Errores")
    assert first.names == ("identifier:av1001",)
    assert first.content == "| Código | Causa |\n|---|---|\n| AV-1001 | Disco |"
    assert second.content == "| Código | Causa |\n|---|---|\n| AV-1007 | Red |", "the place that defines it"
    assert (second.line_start, second.line_end) == (8, 8)


def test_a_paragraph_a_list_item_and_a_definition() -> None:
    text = "Se paga la\nFAC-2024-0113 de mayo\n\n- Uno: PED-2024-7\n- Dos\n\nSegún REF-99-1.\n\nCódigo: REF-99-1\n"
    assert [result.content for result in codes(text)] == [
        "FAC-2024-0113 de mayo",
        "- Uno: PED-2024-7",
        "Código: REF-99-1",
    ]
    assert codes("Se paga la factura\nsegún FAC-2024-0113 de mayo\ncon demora.\n\nFin.")[0].content == (
        "Se paga la factura\nsegún FAC-2024-0113 de mayo\ncon demora."
    )


def test_a_code_in_a_heading_is_shown_with_the_paragraph_below() -> None:
    (result,) = codes("# Pedido PED-2024-7\n\nDos cajas.\n\nOtro párrafo.\n")
    assert result.content == "# Pedido PED-2024-7\n\nDos cajas."


def test_one_writing_or_another_a_code_is_one() -> None:
    assert [result.key for result in codes("FAC-2024-0113, fac/2024/0113 y FAC_2024_0113.")] == ["d#FAC-2024-0113"]


def test_of_a_long_line_a_part_is_shown() -> None:
    (result,) = codes("palabra " * 5_000 + "FAC-2024-0113 " + "palabra " * 5_000)
    assert result.content is not None
    assert len(result.content) <= MAX_CONTENT
    assert "FAC-2024-0113" in result.content


def test_a_code_with_typographic_hyphens_is_one_with_the_plain() -> None:
    (result,) = codes("La FRA‑2024‑0999 y FRA-2024-0999.")
    assert (result.key, result.names) == ("d#FRA‑2024‑0999", ("identifier:fra20240999",))


def test_both_ends_of_a_range_are_codes() -> None:
    assert [result.name for result in codes("Del E01–E05, REF-01–REF-09.")] == ["E01", "E05", "REF-01", "REF-09"]


@pytest.mark.parametrize(
    "account",
    [
        "ES91 2100 0418 4502 0005 1332", "GB82 WEST 1234 5698 7654 32", "FR14 2004 1010 0505 0001 3M02 606",
        "NO93 8601 1117 947", "PT50 0002 0123 1234 5678 9015 4",
    ],
)  # fmt: skip
def test_an_account_number_in_groups_is_one_code(account: str) -> None:
    (result,) = codes(f"Cuenta {account} BBVA de 2024, otra vez {account.replace(' ', '')}.")
    assert (result.name, result.names) == (account, (f"identifier:{account.replace(' ', '').lower()}",))


def test_no_more_than_so_many_of_a_document_the_first(caplog: pytest.LogCaptureFixture) -> None:
    results = codes("\n".join(f"FAC-{number}" for number in range(10_000, 10_100 + MAX_IDENTIFIERS)))
    assert len(results) == MAX_IDENTIFIERS == 5_000
    assert (results[0].name, results[-1].name) == ("FAC-10000", "FAC-14999")
    (warning,) = caplog.messages
    assert "more than 5000 codes" in warning


def test_of_all_that_are_no_more_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    assert len(codes("\n".join(f"FAC-{number}" for number in range(10_000, 15_000)))) == 5_000
    assert caplog.messages == []
