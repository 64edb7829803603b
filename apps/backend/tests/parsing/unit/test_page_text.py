"""Running text from the lines of pages."""

from __future__ import annotations

from ragcorp.infrastructure.parsing.page_text import join_pages, without_furniture

WIDE = "Esta línea llena todo el ancho de la página, como las de un párrafo, y sigue en la"


def text_of(*pages: str, headings: tuple[str, ...] = ()) -> str:
    return join_pages(pages, headings)[0]


def test_full_lines_go_on_and_paragraphs_end() -> None:
    page = f"{WIDE}\nsiguiente hasta el punto.\n{WIDE}\nsegunda."
    assert text_of(page) == f"{WIDE} siguiente hasta el punto.\n\n{WIDE} segunda."


def test_short_lines_stay_apart() -> None:
    assert text_of(f"{WIDE}\nfin.\nCalle Mayor, 3\n26001 Logroño") == f"{WIDE} fin.\n\nCalle Mayor, 3\n26001 Logroño"


def test_rows_of_numbers_stay_apart() -> None:
    rows = [f"Concepto de la fila {n} con una descripción larga 1.2{n}0,50 {n}5,00 euros" for n in (1, 2)]
    assert text_of("\n".join(rows)) == "\n".join(rows)


def test_hyphens_at_line_ends() -> None:
    assert text_of("pala\x02bra, Madrid\x02Barcelona, 2024\x022025, sua\u00ad\nve") == (
        "palabra, Madrid-Barcelona, 2024-2025, suave"
    )


def test_lists_become_markdown_lists() -> None:
    assert text_of(f"{WIDE}\n• uno\n▪ dos\n3) tres") == f"{WIDE}\n- uno\n- dos\n3) tres"


def test_headings_have_the_level_of_their_number() -> None:
    page = "1. Objeto\nTexto uno\n1.2. Ámbito\nTexto dos\nTotal, 3."
    assert text_of(page, headings=("1. Objeto", "1.2.  Ámbito", "Total, 3.")) == (
        "## 1. Objeto\n\nTexto uno\n\n### 1.2. Ámbito\n\nTexto dos\nTotal, 3."
    )


def test_a_sentence_over_a_page_break_and_a_blank_page() -> None:
    text, starts = join_pages([WIDE, "", "página siguiente.\nFin.", "Otra."])
    assert text == f"{WIDE} página siguiente.\nFin.\n\nOtra."
    assert starts == (0, len(WIDE), len(WIDE) + 1, text.index("Otra."))
    assert join_pages(["", ""]) == ("", (0, 0))


def test_heads_feet_and_numbers() -> None:
    pages = [["ACME | Acta", f"Artículo {n}", f"Cuerpo {n}", "Confidencial", f"- {n + 4} -"] for n in range(1, 5)]
    assert without_furniture(pages) == [
        (["ACME | Acta", "Artículo 1", "Cuerpo 1"], ["Confidencial"]),
        *(([f"Artículo {n}", f"Cuerpo {n}"], ["ACME | Acta", "Confidencial"]) for n in (2, 3, 4)),
    ]


def test_a_head_with_its_page_number() -> None:
    pages = [[f"Contrato marco | Página {n} de 3", f"Cuerpo {n}"] for n in (1, 2, 3)]
    assert without_furniture(pages) == [
        (["Contrato marco", "Cuerpo 1"], []),
        *(([f"Cuerpo {n}"], ["Contrato marco"]) for n in (2, 3)),
    ]


def test_heads_of_later_pages_are_no_headings_and_cut_no_sentence() -> None:
    pages = [
        f"ACME\n{WIDE}\nfin.\n{WIDE}\nConfidencial",
        f"ACME\npágina dos.\n{WIDE}\nfin.\nPlazo\n{WIDE}\nConfidencial",
        f"ACME\npágina tres, {WIDE}\nConfidencial",
        "ACME\nconfines.\nConfidencial",
        "ACME\nConfidencial",
    ]
    repeats = "ACME\nConfidencial"
    text, starts = join_pages(pages, ("ACME", "Plazo"))
    assert text == (
        f"## ACME\n\n{WIDE} fin.\n\nConfidencial\n\n{WIDE} "
        f"página dos.\n\n{WIDE} fin.\n\n{repeats}\n\n## Plazo\n\n{WIDE} "
        f"página tres, {WIDE}\n\n{repeats}\n\nconfines.\n\n{repeats}\n\n{repeats}"
    )
    assert starts[:-1] == tuple(map(text.index, ["## ACME", "página dos", "página tres", "confines"]))
    assert starts[-1] == text.rindex(repeats)


def test_rows_of_a_table_are_no_heads() -> None:
    pages = [["| Concepto | Precio |", "| --- | --- |", f"| Partida {n} | {n},50 |", f"Cuerpo {n}"] for n in (1, 2, 3)]
    assert without_furniture(pages) == [(page, []) for page in pages]


def test_what_two_pages_share_stays() -> None:
    pages = [["Igual", "uno"], ["Igual", "dos"]]
    assert without_furniture(pages) == [(page, []) for page in pages]
