"""Texts, sheets and slides of LibreOffice."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ragcorp.domain.documents import UnreadKind
from ragcorp.domain.exceptions import UnreadableDocumentError
from support.parsing.kinds import parse, parts_of, zipped

_URN = "urn:oasis:names:tc:opendocument:xmlns"
SPACES = (
    " ".join(
        f'xmlns:{short}="{_URN}:{name}:1.0"'
        for short, name in (
            ("office", "office"),
            ("text", "text"),
            ("table", "table"),
            ("style", "style"),
            ("draw", "drawing"),
            ("presentation", "presentation"),
        )
    )
    + ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def odf(kind: str, body: str, *, styles: str = "", **parts: str) -> bytes:
    content = (
        f"<office:document-content {SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    return zipped({"content.xml": content} | parts)


def test_a_text_of_libreoffice() -> None:
    note = "<text:note-citation>1</text:note-citation><text:note-body><text:p>De 1998.</text:p></text:note-body>"
    note = f"<text:note>{note}</text:note>"
    comment = "<office:annotation><dc:creator>Ana</dc:creator><text:p>Revisar</text:p></office:annotation>"
    deleted = "<text:tracked-changes><text:p>borrado</text:p></text:tracked-changes>"
    levels = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
        'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="1" '
        'text:display-levels="2"/></text:list-style>'
    )
    inner = "<text:list><text:list-item><text:p>sub</text:p></text:list-item></text:list>"
    listed = (
        f'<text:list text:style-name="L"><text:list-item><text:p>uno</text:p>{inner}</text:list-item>'
        "<text:list-item><text:p>dos</text:p></text:list-item></text:list>"
    )
    table = (
        "<table:table><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell><table:table-cell>"
        "<text:p>B</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell "
        'table:number-columns-repeated="2"><text:p>1</text:p></table:table-cell></table:table-row></table:table>'
    )
    body = (
        f'{deleted}<text:h text:outline-level="1">Informe</text:h><text:p>Plazo:<text:s/>45<text:tab/>días{note}'
        f"{comment}.</text:p>{listed}{table}"
    )
    parsed = parse("a.odt", odf("text", body, styles=levels, **{"Pictures/a.png": ""}))
    assert parsed.title == "Informe"
    assert parsed.text.split("\n\n") == [
        "# Informe",
        "Plazo: 45 días (nota: De 1998).",
        "Comentario de Ana: Revisar",
        "1. uno",
        "1.1 sub",
        "2. dos",
        "| A | B |\n| --- | --- |\n| 1 | 1 |",
    ]
    assert parts_of(parsed) == {(UnreadKind.IMAGE, 1, ())}


def test_a_sheet_of_libreoffice_has_shown_values() -> None:
    styles = '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'

    def sheet(name: str, style: str, *cells: str) -> str:
        row = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        padding = '<table:table-cell table:number-columns-repeated="16000"/>'
        blank = f'<table:table-row table:number-rows-repeated="1048000">{padding}</table:table-row>'
        rows = f"<table:table-row>{row}{padding}</table:table-row>{blank}"
        return f'<table:table table:name="{name}" table:style-name="{style}">{rows}</table:table>'

    body = sheet("Resumen", "v", "Margen", "44,5 %") + sheet("Sueldos", "h", "secreto")
    parsed = parse("a.ods", odf("spreadsheet", body, styles=styles))
    assert parsed.text == "## Resumen\n\n| Margen | 44,5 % |\n| --- | --- |"
    assert parts_of(parsed) == {(UnreadKind.HIDDEN_SHEET, 1, ("Sueldos",))}


def test_slides_of_libreoffice() -> None:
    def slide(title: str, text: str, note: str) -> str:
        box = "<draw:text-box><text:p>{}</text:p></draw:text-box>"
        notes = f"<presentation:notes><draw:frame>{box.format(note)}</draw:frame></presentation:notes>"
        heading = f'<draw:frame presentation:class="title">{box.format(title)}</draw:frame>'
        return f"<draw:page><draw:frame>{box.format(text)}</draw:frame>{heading}{notes}</draw:page>"

    parsed = parse("a.odp", odf("presentation", slide("Uno", "a", "n1") + slide("Dos", "b", "n2")))
    pages = [parsed.text[start:end].strip() for start, end in pairwise([*parsed.page_starts, len(parsed.text)])]
    assert pages == ["## Uno\n\na\n\nn1", "## Dos\n\nb\n\nn2"]


def test_an_encrypted_document_of_libreoffice() -> None:
    manifest = {"META-INF/manifest.xml": "<manifest><encryption-data/></manifest>"}
    with pytest.raises(UnreadableDocumentError, match="password"):
        parse("a.odt", odf("text", "", **manifest))


def row(*cells: str, repeated: int = 1) -> str:
    inner = "".join(f"<table:table-cell>{cell}</table:table-cell>" for cell in cells)
    return f'<table:table-row table:number-rows-repeated="{repeated}">{inner}</table:table-row>'


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def box(text: str) -> str:
    return f"<draw:frame><draw:text-box>{p(text)}</draw:text-box></draw:frame>"


def test_equal_rows_and_boxes_of_a_sheet() -> None:
    rows = row(p("Concepto"), p("Importe")) + row(p("Café"), p("2,50 €"), repeated=3)
    rows += row(p("Total"), p("7,50 €") + box("sin IVA")) + row("", "", repeated=1_048_000)
    body = f'<table:table table:name="Gastos"><table:shapes>{box("Aprobado")}</table:shapes>{rows}</table:table>'
    text = parse("a.ods", odf("spreadsheet", body)).text
    assert text.splitlines()[4:] == [*["| Café | 2,50 € |"] * 3, "| Total | 7,50 € sin IVA |", "", "Aprobado"]


def test_rows_that_repeat_without_end_are_cut() -> None:
    body = f'<table:table table:name="a">{row(p("nutria"), repeated=9_999_999)}</table:table>'
    assert len(parse("a.ods", odf("spreadsheet", body)).text) < 3_000_000


def test_tables_and_sections_within_a_cell() -> None:
    inner = f"<table:table>{row(p('dentro 1'), p('dentro 2'))}{row(p('x'), p('y'))}</table:table>"
    outer = row(p("A") + inner, f"<text:section>{p('B')}</text:section>") + row(p("C"), box("D"))
    text = parse("a.odt", odf("text", f"<table:table>{outer}</table:table>")).text
    assert text == "| A dentro 1, dentro 2; x, y | B |\n| --- | --- |\n| C | D |"


def test_a_list_that_starts_at_five() -> None:
    levels = '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
    levels += 'style:num-suffix="."/></text:list-style>'
    items = f'<text:list-item text:start-value="5">{p("cinco")}</text:list-item><text:list-item>{p("seis")}'
    body = f'<text:list text:style-name="L">{items}</text:list-item></text:list>'
    assert parse("a.odt", odf("text", body, styles=levels)).text == "5. cinco\n\n6. seis"


def test_a_comment_on_a_slide() -> None:
    comment = f"<office:annotation><dc:creator>Ana</dc:creator>{p('revisar')}</office:annotation>"
    text = parse("a.odp", odf("presentation", f"<draw:page>{box('uno')}{comment}</draw:page>")).text
    assert text == "uno\n\nComentario de Ana: revisar"
