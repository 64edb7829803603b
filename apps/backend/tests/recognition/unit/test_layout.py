"""From pieces of text with their places to lines, columns and paragraphs."""

from __future__ import annotations

from ragcorp.infrastructure.recognition.layout import Piece, page_text

WIDTH = 1000.0
LEFT = (
    "La cooperativa vende",
    "aceite de primera en",
    "botellas de cristal y",
    "en latas de cinco",
    "litros, según la",
    "cosecha y el año",
)
RIGHT = (
    "El molino trabaja en",
    "otoño y en invierno,",
    "con turnos de noche",
    "cuando hace falta; la",
    "limpieza es diaria y",
    "queda por escrito",
)


def piece(left: float, top: float, text: str, *, right: float | None = None) -> Piece:
    return Piece(left, top, right or left + 10 * len(text), top + 20, text)


def columns(left: tuple[str, ...], right: tuple[str, ...], *, width: float) -> list[Piece]:
    return [
        piece(start, 100 + 30 * row, text, right=start + width)
        for start, texts in ((50, left), (550, right))
        for row, text in enumerate(texts)
    ]


def test_pieces_of_a_line_come_from_left_to_right() -> None:
    pieces = [piece(400, 102, "1.250,00 €"), piece(50, 100, "Total"), piece(50, 130, "IVA"), piece(400, 128, "21 %")]
    assert page_text(pieces, width=WIDTH) == "Total 1.250,00 €\nIVA 21 %"


def test_a_gap_ends_a_paragraph() -> None:
    assert page_text([piece(50, 100, "Uno"), piece(50, 130, "dos"), piece(50, 200, "Tres")], width=WIDTH) == (
        "Uno\ndos\n\nTres"
    )


def test_a_word_over_two_lines_is_joined() -> None:
    pieces = [
        piece(50, 100, "el respon-"),
        piece(50, 130, "sable, de lunes a do-"),
        piece(50, 160, "mingo, B-"),
        piece(50, 190, "12"),
    ]
    assert page_text(pieces, width=WIDTH) == "el responsable, de lunes a domingo, B-\n12"


def test_columns_of_prose_follow_each_other() -> None:
    head, foot = piece(50, 40, "MEMORIA ANUAL", right=950), piece(50, 320, "Página 3 de 8", right=950)
    text = page_text([foot, *columns(LEFT, RIGHT, width=400), head], width=WIDTH)
    assert text.replace("\n\n", "\n") == "\n".join(["MEMORIA ANUAL", *LEFT, *RIGHT, "Página 3 de 8"])


def test_a_table_is_read_row_by_row() -> None:
    amounts = ("120,00", "80,50", "1.300,00", "15,25", "7,10", "99,99")
    text = page_text(columns(LEFT, amounts, width=80), width=WIDTH)
    assert text.splitlines()[:2] == [f"{LEFT[0]} 120,00", f"{LEFT[1]} 80,50"]


def test_nothing_is_on_an_empty_page() -> None:
    assert page_text([], width=WIDTH) == ""
