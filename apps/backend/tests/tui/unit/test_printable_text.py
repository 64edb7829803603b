"""What a terminal is shown of a text, and which words are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.interface.tui.passages import number
from ragcorp.interface.tui.printable_text import printable, shortened, wrapped
from ragcorp.interface.tui.query_marks import MOST_SEARCHED, QueryMarks


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("año «ñandú» ¿sí? 漢 😀", "año «ñandú» ¿sí? 漢 😀"),
        ("a\tb\r\nc", "a    b\nc"),
        ("a\x1b[2Jb\x00\x9b\r", "a\ufffd[2Jb\ufffd\ufffd\ufffd"),
        ("\u202eab\u2066", "\ufffdab\ufffd"),
        ("a\u200bb\ufeffc\u00add", "abcd"),
        ("a\u2028b", "a b"),
        ("\ud800", "\ufffd"),
        ("e\u0301", "e\u0301"),
    ],
)
def test_shown(text: str, seen: str) -> None:
    assert printable(text) == seen


@given(st.text(alphabet=st.characters(codec=None)))
def test_nothing_that_is_shown_can_steer_a_terminal(text: str) -> None:
    seen = printable(text)
    seen.encode()
    assert not any(ord(character) < 0x20 and character != "\n" for character in seen)
    assert not any(0x7F <= ord(character) < 0xA0 for character in seen)
    assert printable(seen) == seen


@given(st.text(alphabet="ab ñ漢\u0301😀", max_size=80), st.integers(min_value=2, max_value=12))
def test_wrapped_rows_are_the_line_and_fit(line: str, cells: int) -> None:
    rows = wrapped(line, cells)
    assert "".join(line[start:end] for start, end in rows) == line
    assert all(cell_len(line[start:end].rstrip(" ")) <= cells for start, end in rows)


def test_wrapped_behind_spaces_where_there_are_any() -> None:
    assert wrapped("uno dos tres", 8) == [(0, 8), (8, 12)]
    assert wrapped("uno dos tres", 7) == [(0, 8), (8, 12)]
    assert wrapped("unodostres", 4) == [(0, 4), (4, 8), (8, 10)]
    assert wrapped("漢漢漢", 4) == [(0, 2), (2, 3)]
    assert wrapped("", 4) == [(0, 0)]


def test_shortened_by_cells() -> None:
    assert shortened("entrega", 7) == "entrega"
    assert shortened("entregas", 7) == "entreg…"
    assert shortened("漢漢漢漢", 7) == "漢漢漢…"


@pytest.mark.parametrize(
    ("query", "line", "marked"),
    [
        ("plazo", "El PLAZO, los plazos y el emplazo", ["PLAZO", "plazos"]),
        ("politica vacación", "Política de vacaciones", ["Política", "vacaciones"]),
        ("¿Cuál es el plazo de entrega?", "el plazo de la entrega es entre dos", ["plazo", "entrega"]),
        ("el de", "el plan de la casa", ["el", "de"]),
        ("REQ-2026-014", "pedido req-2026-014, no REQ-2026-0145 ni 2026", ["req-2026-014"]),
        ("calcular_total", "def calcular_total(x)", ["calcular_total"]),
        ("iva", "IVA incluida, IVAS", ["IVA"]),
        ("pasarela", "Alerta: PasarelaLenta", ["Pasarela"]),
        ("iva", "Alerta: IvaLenta", []),
        ("", "nada", []),
    ],
)
def test_marks(query: str, line: str, marked: list[str]) -> None:
    assert [line[start:end] for start, end in QueryMarks(query).spans(line)] == marked


def test_a_line_that_is_none_for_reading_is_searched_at_its_beginning() -> None:
    assert len(QueryMarks("uno").spans("uno " * 10_000)) == MOST_SEARCHED // 4


def test_lexemes_that_the_search_found_are_marked_too() -> None:
    line = "Se entregará mañana"
    assert QueryMarks("entregas", ["entreg"]).spans(line) == [(3, 12)]


@given(st.text())
def test_folding_keeps_every_place(text: str) -> None:
    assert len(folded_in_place(text)) == len(text)


@pytest.mark.parametrize(
    ("value", "written"), [(0.0325, ".0325"), (0.8123, ".812"), (12.345, "12.3"), (0.0, "0"), (-0.5, "-.5"), (1.0, "1")]
)
def test_numbers_are_short(value: float, written: str) -> None:
    assert number(value) == written
