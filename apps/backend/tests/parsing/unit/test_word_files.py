"""Word files: numbers, notes, comments, heads and feet, fields, formulas and charts come out where they belong."""

from __future__ import annotations

import io
import re
import zipfile

import docx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Pt

from ragcorp.domain.documents import UnreadKind
from support.parsing.kinds import parse, parts_of, saved, with_parts

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def numbered(*levels: tuple[str, str]) -> docx.document.Document:
    """A document whose list 99 has levels of (format, template)."""
    document = docx.Document()
    inner = "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{template}"/></w:lvl>'
        for level, (form, template) in enumerate(levels)
    )
    numbering = document.part.numbering_part.element
    abstract = parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="99">{inner}</w:abstractNum>')
    numbering.insert(0, abstract)
    numbering.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="99"><w:abstractNumId w:val="99"/></w:num>'))
    return document


def number(paragraph: docx.text.paragraph.Paragraph, level: int, *, of: int = 99) -> None:
    paragraph._p.get_or_add_pPr().append(
        parse_xml(f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{level}"/><w:numId w:val="{of}"/></w:numPr>')
    )


def test_clauses_have_the_numbers_that_are_shown() -> None:
    document = numbered(("decimal", "Cláusula %1."), ("decimal", "%1.%2."))
    for title, clauses in (("Objeto del contrato", ["El objeto."]), ("Precio y pago", ["El precio.", "El pago."])):
        number(document.add_heading(title, 1), 0)
        for clause in clauses:
            number(document.add_paragraph(clause), 1)
    assert parse("a.docx", saved(document)).text.split("\n\n") == [
        "# Cláusula 1. Objeto del contrato",
        "1.1. El objeto.",
        "# Cláusula 2. Precio y pago",
        "2.1. El precio.",
        "2.2. El pago.",
    ]


@pytest.mark.parametrize(
    ("form", "template", "expected"),
    [
        ("upperRoman", "%1.", ["I.", "II.", "III.", "IV."]),
        ("lowerLetter", "%1)", ["a)", "b)", "c)", "d)"]),
        ("decimalZero", "%1", ["01", "02", "03", "04"]),
        ("ordinalText", "Cláusula %1.", ["Cláusula Primera.", "Cláusula Segunda.", "Cláusula Tercera."]),
        ("ordinalText", "Artículo %1.", ["Artículo Primero.", "Artículo Segundo."]),
        ("ordinal", "Artículo %1", ["Artículo 1.º", "Artículo 2.º"]),
    ],
)
def test_kinds_of_numbers(form: str, template: str, expected: list[str]) -> None:
    document = numbered((form, template))
    for _ in expected:
        number(document.add_paragraph("texto"), 0)
    assert parse("a.docx", saved(document)).text.split("\n\n") == [f"{label} texto" for label in expected]


def test_a_list_of_the_style_and_one_that_starts_anew() -> None:
    document = docx.Document()
    for _ in range(2):
        document.add_paragraph("paso", style="List Number")
    document.add_paragraph("viñeta", style="List Bullet")
    assert parse("a.docx", saved(document)).text == "1. paso\n\n2. paso\n\n- viñeta"
    document = numbered(("decimal", "%1."))
    document.part.numbering_part.element.append(
        parse_xml(
            f'<w:num {nsdecls("w")} w:numId="98"><w:abstractNumId w:val="99"/><w:lvlOverride w:ilvl="0">'
            '<w:startOverride w:val="1"/></w:lvlOverride></w:num>'
        )
    )
    for of in (99, 99, 98, 98):
        number(document.add_paragraph("x"), 0, of=of)
    assert re.findall(r"\d", parse("a.docx", saved(document)).text) == ["1", "2", "1", "2"]


def test_a_comment_is_told_from_the_text() -> None:
    document = docx.Document()
    run = document.add_paragraph().add_run("La penalización es del 5 %.")
    document.add_comment(run, text="Negociar: bajar al 1 % según gerencia", author="Gestoría")
    document.add_paragraph("Fin.")
    assert parse("a.docx", saved(document)).text.split("\n\n") == [
        "La penalización es del 5 %.",
        "Comentario de Gestoría: Negociar: bajar al 1 % según gerencia",
        "Fin.",
    ]


def test_a_formula_stands_in_its_sentence() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("La retención es ")
    paragraph._p.append(parse_xml(f"<m:oMath {MATH}><m:r><m:t>R=0,037·D</m:t></m:r></m:oMath>"))
    paragraph.add_run(" y no más.")
    fraction = "<m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
    power = "<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>3</m:t></m:r></m:sup></m:sSup>"
    document.add_paragraph()._p.append(
        parse_xml(f"<m:oMathPara {MATH}><m:oMath>{fraction}{power}</m:oMath></m:oMathPara>")
    )
    assert parse("a.docx", saved(document)).text == "La retención es R=0,037·D y no más.\n\n(a+b)/2x^3"


def test_the_result_of_a_field() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Vea la ")
    paragraph._p.append(
        parse_xml(f'<w:fldSimple {nsdecls("w")} w:instr="REF x"><w:r><w:t>amapola</w:t></w:r></w:fldSimple>')
    )
    assert parse("a.docx", saved(document)).text == "Vea la amapola"


def test_heads_and_feet_come_first_and_once() -> None:
    document = docx.Document()
    document.add_heading("Contrato", 0)
    document.sections[0].header.paragraphs[0].text = "Expediente VLD-2031"
    foot = document.sections[0].footer
    foot.paragraphs[0].text = "Registro 4471-B"
    foot.add_paragraph("Página 1 de 3")
    parsed = parse("a.docx", saved(document))
    assert parsed.text == "Expediente VLD-2031\n\nRegistro 4471-B\n\n# Contrato"
    assert parsed.title == "Contrato"


@pytest.mark.parametrize("length", [1, 20])
def test_a_footnote_is_part_of_the_clause_that_refers_to_it(length: int) -> None:
    document = docx.Document()
    document.add_heading("Segunda. Plazo", 1)
    paragraph = document.add_paragraph("El plazo es de 25 días")
    paragraph._p.append(parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="1"/></w:r>'))
    paragraph.add_run(".")
    said = " ".join(["En agosto, 40 días."] * length)
    document.add_heading("Tercera", 1)
    note = '<w:footnote w:id="1"><w:p><w:r><w:t>' + said + "</w:t></w:r></w:p></w:footnote>"
    notes = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>"
    content = with_parts(
        saved(document),
        {"word/footnotes.xml": notes},
        relations={"word/document.xml": [("footnotes", "footnotes.xml")]},
    )
    expected = ["El plazo es de 25 días (nota: En agosto, 40 días)."]
    if length > 1:
        expected = ["El plazo es de 25 días.", f"Nota: {said}"]
    assert parse("a.docx", content).text.split("\n\n") == ["# Segunda. Plazo", *expected, "# Tercera"]


def test_pictures_are_named_as_unread() -> None:
    from support.parsing import samples

    assert parts_of(parse("a.docx", samples.docx_file())) == {(UnreadKind.IMAGE, 1, ())}


def test_a_text_box_and_a_document_with_macros() -> None:
    document = docx.Document()
    document.add_paragraph()._p.append(
        parse_xml(
            f'<w:r {nsdecls("w")} xmlns:v="urn:schemas-microsoft-com:vml"><w:pict><v:shape><v:textbox><w:txbxContent>'
            "<w:p><w:r><w:t>extensión 214</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r>"
        )
    )
    document.styles["Normal"].font.size = Pt(10)
    for name in ("a.docx", "a.docm", "a.dotx"):
        assert parse(name, saved(document)).text == "extensión 214"


BOX = (
    '<w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"><g><sp>'
    "<w:txbxContent><w:p><w:r><w:t>caja</w:t></w:r></w:p></w:txbxContent></sp></g></wp:inline></w:drawing>"
)
ALTERNATIVE = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
FIELD = '<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{}</w:ffData></w:fldChar></w:r><w:r><w:instrText> {} '
FIELD += '</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
LIST = '<w:ddList><w:result w:val="1"/><w:listEntry w:val="Uno"/><w:listEntry w:val="Dos"/></w:ddList>'


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (f"<w:r>{BOX}</w:r>", "caja"),
        (f"<w:r><mc:AlternateContent {ALTERNATIVE}><mc:Choice>{BOX}</mc:Choice></mc:AlternateContent></w:r>", "caja"),
        (
            (
                f"<w:r><mc:AlternateContent {ALTERNATIVE}><mc:Choice>{BOX}</mc:Choice>"
                "<mc:Fallback><w:pict/></mc:Fallback></mc:AlternateContent></w:r>"
            ),
            "caja",
        ),
        (FIELD.format("<w:checkBox><w:checked/></w:checkBox>", "FORMCHECKBOX"), "☒"),
        (FIELD.format("<w:checkBox/>", "FORMCHECKBOX"), "☐"),
        (FIELD.format(LIST, "FORMDROPDOWN"), "Dos"),
        ("<w:r><w:t>Fecha</w:t><w:ptab/><w:t>Firma</w:t></w:r>", "Fecha\tFirma"),
        ("<w:ins><w:r><w:t>25</w:t></w:r></w:ins><w:del><w:r><w:delText>20</w:delText></w:r></w:del>", "25"),
        ("<w:moveFrom><w:r><w:t>no</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t>sí</w:t></w:r></w:moveTo>", "sí"),
        ("<w:sdt><w:sdtContent><w:r><w:t>control</w:t></w:r></w:sdtContent></w:sdt>", "control"),
        ("<w:ruby><w:rt><w:r><w:t>b</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>a</w:t></w:r></w:rubyBase></w:ruby>", "ba"),
        ("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t><w:softHyphen/><w:t>c</w:t></w:r>", "a\u2011bc"),
    ],
)
def test_what_a_paragraph_may_hold(inner: str, expected: str) -> None:
    document = docx.Document()
    document.element.body.insert(0, parse_xml(f"<w:p {nsdecls('w')}>{inner}</w:p>"))
    assert parse("a.docx", saved(document)).text == expected


OFFICE = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def with_body(*elements: str) -> docx.document.Document:
    document = docx.Document()
    for element in elements:
        root = parse_xml(f"<w:root {nsdecls('w')} {OFFICE} {ALTERNATIVE}>{element}</w:root>")
        document.element.body.insert(len(document.element.body) - 1, root[0])
    return document


@pytest.mark.parametrize(
    "paragraph",
    [
        '<w:p><w:r><w:t>Ver </w:t></w:r><w:hyperlink r:id="no"><w:r><w:t>enlace</w:t></w:r></w:hyperlink></w:p>',
        "<w:p><w:r><w:t>Ver enlace</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>oculto</w:t></w:r></w:p>",
        '<w:p><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>Ver enlace</w:t></w:r></w:p>',
        (
            "<w:p><w:r><w:t>Ver enlace</w:t></w:r><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r>"
            "<w:t>Haga clic aquí para escribir texto.</w:t></w:r></w:sdtContent></w:sdt></w:p>"
        ),
    ],
)
def test_hidden_text_and_broken_links(paragraph: str) -> None:
    assert parse("a.docx", saved(with_body(paragraph))).text == "Ver enlace"


def test_a_link_keeps_its_address() -> None:
    document = docx.Document()
    related = document.part.relate_to("https://example.org/a", RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    link = f'<w:hyperlink {nsdecls("w")} {OFFICE} r:id="{related}"><w:r><w:t>bases</w:t></w:r></w:hyperlink>'
    document.add_paragraph()._p.append(parse_xml(link))
    assert parse("a.docx", saved(document)).text == "[bases](https://example.org/a)"


def test_a_numbered_paragraph_in_a_box_counts_once() -> None:
    def item(text: str, after: str = "") -> str:
        style = '<w:pPr><w:pStyle w:val="ListNumber"/></w:pPr>'
        return f"<w:p>{style}<w:r><w:t>{text}</w:t></w:r>{after}</w:p>"

    box = f"<w:txbxContent>{item('en caja')}</w:txbxContent>"
    alternatives = (
        f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    text = parse("a.docx", saved(with_body(item("uno", alternatives), item("tres")))).text
    assert re.findall(r"\d\. [a-z ]+", text) == ["1. uno", "2. en caja", "3. tres"]


def test_files_that_are_shown_as_a_part_of_the_text() -> None:
    chunks = {
        "a.htm": "<html><head><title>x</title></head><body><p>De la web</p><ul><li>uno</li></ul></body></html>",
        "b.txt": "# De un texto",
        "c.docx": saved(with_body("<w:p><w:r><w:t>De otro documento</w:t></w:r></w:p>")),
        "d.mht": "otra cosa",
        "e.docx": b"roto",
    }
    marks = [f'<w:altChunk r:id="added{number}"/>' for number in range(len(chunks))]
    paragraphs = [f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in ("Antes", "Después")]
    content = with_parts(
        saved(with_body(paragraphs[0], *marks, paragraphs[1])),
        {f"word/{name}": chunk for name, chunk in chunks.items()},
        relations={"word/document.xml": [("aFChunk", name) for name in chunks]},
    )
    parsed = parse("a.docx", content)
    expected = ["Antes", "De la web", "- uno", "\\# De un texto", "De otro documento", "Después"]
    assert [block.strip() for block in parsed.text.split("\n\n") if block.strip()] == expected
    assert parts_of(parsed) == {(UnreadKind.EMBEDDED_OBJECT, 2, ("d.mht", "e.docx"))}


def test_embedded_workbooks_are_named_but_for_those_of_charts() -> None:
    content = with_parts(
        saved(with_body("<w:p><w:r><w:t>Texto</w:t></w:r></w:p>")),
        {"word/embeddings/1.xlsx": b"PK", "word/embeddings/2.xlsx": b"PK", "word/charts/chart1.xml": "<chart/>"},
        relations={"word/charts/chart1.xml": [("package", "../embeddings/1.xlsx")]},
    )
    assert parts_of(parse("a.docx", content)) == {(UnreadKind.EMBEDDED_OBJECT, 1, ())}


def test_tables_within_tables_and_merged_cells() -> None:
    document = docx.Document()
    table = document.add_table(3, 2)
    for cell, text in zip(table._cells, ["Zona", "Tarifa", "Norte", "120 €", "", "215 €"], strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    inner = table.cell(2, 1).add_table(2, 2)
    for cell, text in zip(inner._cells, "abcd", strict=True):
        cell.text = text
    assert parse("a.docx", saved(document)).text == (
        "| Zona | Tarifa |\n| --- | --- |\n| Norte | 120 € |\n| Norte | 215 € a, b; c, d |"
    )


def test_a_table_of_one_column_is_a_frame() -> None:
    document = docx.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    cell.text = "Aviso"
    cell.add_paragraph("uno", style="List Bullet")
    assert parse("a.docx", saved(document)).text == "Aviso\n\n- uno"


def test_a_package_without_a_main_part_is_damaged() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/other.xml", "<x/>")
    with pytest.raises(Exception, match="damaged"):
        parse("a.docx", buffer.getvalue())
