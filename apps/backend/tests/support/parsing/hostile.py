"""Files that attack their parser, made by code: loops, bombs, truncations, flipped bytes, deep nesting."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping

from support.parsing import samples

Make = Callable[[], bytes]

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    """A PDF of these objects; the first one is the catalog."""
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%btrailer<</Size %d/Root 1 0 R%b>>\n" % (size, rows, size, trailer)
    return out + table + b"startxref\n%d\n%%%%EOF" % len(out)


def stream(content: bytes, head: bytes = b"") -> bytes:
    return b"<</Length %d%b>>stream\n%b\nendstream" % (len(content), head, content)


def page(*rest: bytes, contents: bytes = b"4 0 R", resources: bytes = b"", kids: bytes = b"3 0 R") -> bytes:
    return pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%b]/Count 1>>" % kids,
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents %b/Resources<<%b>>>>" % (contents, resources),
        *rest,
    )


FORM = b"/Type/XObject/Subtype/Form/BBox[0 0 200 200]"
FONT = b"/Font<</F 5 0 R>>"
HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def form_that_draws_itself_twice() -> bytes:
    inner = b"/Resources<</XObject<</X 5 0 R>>>>"
    return page(stream(b"/X Do"), stream(b"/X Do /X Do", FORM + inner), resources=b"/XObject<</X 5 0 R>>")


def forms_that_double(levels: int = 40) -> bytes:
    forms = [
        stream(b"/X Do /X Do", FORM + b"/Resources<</XObject<</X %d 0 R>>>>" % (number + 6)) for number in range(levels)
    ]
    last = stream(b"BT /F 9 Tf (hola) Tj ET", FORM)
    return page(stream(b"/X Do"), *forms, last, resources=b"/XObject<</X 5 0 R>>")


def flate_bomb() -> bytes:
    packed = zlib.compress(b"0 0 m 9 9 l S\n" * 15_000_000, 9)
    return page(stream(packed, b"/Filter/FlateDecode"))


def nested_filters() -> bytes:
    content = b"0 0 m 9 9 l S\n" * 2_000_000
    for _ in range(3):
        content = zlib.compress(content, 9)
    return page(stream(content, b"/Filter[/FlateDecode/FlateDecode/FlateDecode]"))


def nested_arrays() -> bytes:
    return page(
        stream(b"BT /F 9 Tf " + b"[" * 300_000 + b"(x)" + b"]" * 300_000 + b" TJ ET"), HELVETICA, resources=FONT
    )


def page_tree_loop() -> bytes:
    return pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 99>>")


def many_kids() -> bytes:
    return page(stream(b"BT /F 9 Tf (hola) Tj ET"), HELVETICA, resources=FONT, kids=b"3 0 R " * 50_000)


def outline_loop() -> bytes:
    return pdf(
        b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        stream(b"BT /F 9 Tf 20 20 Td (El plazo es de 30 dias) Tj ET"),
        HELVETICA,
        b"<</First 7 0 R/Last 7 0 R/Count 1>>",
        b"<</Title(x)/Parent 6 0 R/Next 7 0 R/First 7 0 R>>",
    )


def huge_page_count() -> bytes:
    return pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 2147483647>>")


def self_referring_length() -> bytes:
    return page(b"<</Length 4 0 R>>stream\nx\nendstream")


def office(kind: str, parts: Mapping[str, bytes]) -> bytes:
    """An Office file with the needed parts and these."""
    main = {"docx": "word/document.xml", "xlsx": "xl/workbook.xml", "pptx": "ppt/presentation.xml"}[kind]
    content = {
        "docx": "wordprocessingml.document",
        "xlsx": "spreadsheetml.sheet",
        "pptx": "presentationml.presentation",
    }[kind]
    office_types = f"application/vnd.openxmlformats-officedocument.{content}.main+xml"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/><Override PartName="/{main}" '
        f'ContentType="{office_types}"/></Types>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        f'Target="{main}"/></Relationships>'
    )
    return zipped({"[Content_Types].xml": types.encode(), "_rels/.rels": relations.encode(), **parts})


def zipped(parts: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def word(body: str, head: str = "") -> bytes:
    text = f'<?xml version="1.0"?>{head}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    return office("docx", {"word/document.xml": text.encode()})


def word_of_many_paragraphs(count: int = 20_000) -> bytes:
    return word("<w:p/><w:p><w:r><w:t>x</w:t></w:r></w:p>" * (count // 2))


def word_of_nested_tables(depth: int = 3_000) -> bytes:
    opening, closing = "<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>"
    return word(opening * depth + "<w:p><w:r><w:t>x</w:t></w:r></w:p>" + closing * depth)


def word_of_nested_lists(depth: int = 3_000) -> bytes:
    numbering = '<w:pPr><w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
    return word("".join(f"<w:p>{numbering.format(n % 9)}<w:r><w:t>x</w:t></w:r></w:p>" for n in range(depth)))


BILLION_LAUGHS = (
    "<!DOCTYPE x [<!ENTITY a0 'lol'>" + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)) + "]>"
)


def word_of_laughs() -> bytes:
    return word("<w:p><w:r><w:t>&a11;</w:t></w:r></w:p>", BILLION_LAUGHS)


def word_of_foreign_entities() -> bytes:
    return word("<w:p><w:r><w:t>&f;</w:t></w:r></w:p>", "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/passwd'>]>")


def word_without_body() -> bytes:
    return office("docx", {"word/document.xml": b"<x/>"})


def archive_of_many_members(count: int = 100_000) -> bytes:
    return zipped({f"{number}.txt": b"hola" for number in range(count)})


def archive_of_archives(depth: int = 6, width: int = 8) -> bytes:
    """Each level holds the one below many times over."""
    content = zipped({"a.txt": b"hola " * 1_000_000})
    for _ in range(depth):
        content = zipped({f"{number}.zip": content for number in range(width)})
    return content


def archive_bomb(name: str) -> bytes:
    return zipped({name: bytes(300_000_000)})


def workbook(sheet: str, *, strings: str = "") -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relation}"><sheets><sheet name="A" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        f'relationships"><Relationship Id="r1" Type="{relation}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{relation}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">{strings}</sst>',
    }
    return office("xlsx", {name: content.encode() for name, content in parts.items()})


def workbook_of_one_far_cell() -> bytes:
    return workbook('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row><row r="1"><c r="A1"><v>1</v></c></row>')


def workbook_of_shared_text() -> bytes:
    cells = '<c r="A{0}" t="s"><v>0</v></c>'
    rows = "".join(f'<row r="{n}">{cells.format(n)}</row>' for n in range(1, 3_000))
    return workbook(rows, strings=f"<si><t>{'x' * 30_000}</t></si>")


def workbook_of_empty_rows() -> bytes:
    return workbook("".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 500)))


def slides_without_parts() -> bytes:
    return office("pptx", {"ppt/presentation.xml": b"<p:presentation xmlns:p='p'/>"})


def mail_of_nested_parts(depth: int = 20_000) -> bytes:
    heads = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (number, number) for number in range(depth)
    )
    return b"Subject: hola\r\n" + heads + b"Content-Type: text/plain\r\n\r\nhola\r\n"


def mail_of_many_parts(count: int = 3_000) -> bytes:
    part = b"--b\r\nContent-Type: text/plain\r\n\r\nhola\r\n"
    return b'Subject: x\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n' + part * count + b"--b--\r\n"


def mail_of_one_long_header() -> bytes:
    return b"Subject: " + b"=?utf-8?q?a?= " * 40_000 + b"\r\n\r\nhola"


def mail_of_many_addresses(count: int = 8_000) -> bytes:
    return b"To: " + b"a b <c@d.example>, " * count + b"\r\n\r\nhola"


def mail_of_nested_comments() -> bytes:
    return b"From: " + b"(" * 30_000 + b"a@b.example\r\n\r\nhola"


def nested_html(tag: str, depth: int) -> bytes:
    return (f"<{tag}>" * depth + "hola" + f"</{tag}>" * depth).encode()


def clauses_of_figures(count: int = 12_000) -> bytes:
    return "".join(f"{n}. Plazo\n" for n in range(1, count)).encode()


def clauses_of_steps(count: int = 10_000) -> bytes:
    return "".join(f"1.{n}. x\n" for n in range(1, count)).encode()


def clauses_of_deep_numbers(count: int = 1_000) -> bytes:
    return "".join(".".join(["1"] * (1 + n % 100)) + " Plazo\n" for n in range(count)).encode()


def ebook() -> bytes:
    return zipped({"mimetype": b"application/epub+zip", "META-INF/container.xml": b"<container/>"})


def cut(whole: bytes, share: float) -> bytes:
    return whole[: int(len(whole) * share)]


def flipped(whole: bytes, seed: int, count: int = 20) -> bytes:
    chance, damaged = random.Random(seed), bytearray(whole)
    for _ in range(count):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged)


def lying_zip() -> bytes:
    """An archive that declares a small part, which is not small."""
    whole = bytearray(zipped({"word/document.xml": bytes(50_000_000)}))
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = whole.index(mark) + at
        whole[place : place + 4] = struct.pack("<I", 1_000)
    return bytes(whole)


def quoted_csv() -> bytes:
    return b'a,b\n"' + b'x,"y\n' * 40_000


def wide_csv() -> bytes:
    return b",".join([b"x"] * 40_000) + b"\n1"


def markdown_of_quotes(depth: int = 200_000) -> bytes:
    return b">" * depth + b" hola\n"


def markdown_of_lists(depth: int = 600) -> bytes:
    return b"".join(b"  " * number + b"- a\n" for number in range(depth))


def markdown_of_brackets() -> bytes:
    return b"# " + b"[" * 100_000 + b"\n\n" + b"![" * 60_000


def markdown_of_fences() -> bytes:
    return b"# Hola\n\n" + b"```\n~~~\n" * 12_000


def markdown_of_tables() -> bytes:
    return b"|a|b|\n|-|-|\n" * 12_000


def markdown_of_headings(count: int = 10_000) -> bytes:
    return b"".join(b"#" * (1 + number % 6) + b" Plazo\n" for number in range(count))


def markdown_of_codes() -> bytes:
    return b"".join(b"AB-%d " % number for number in range(15_000))


ALL: Mapping[str, Make] = {
    "loop.pdf": form_that_draws_itself_twice,
    "doubling.pdf": forms_that_double,
    "flate.pdf": flate_bomb,
    "filters.pdf": nested_filters,
    "arrays.pdf": nested_arrays,
    "tree.pdf": page_tree_loop,
    "kids.pdf": many_kids,
    "outline.pdf": outline_loop,
    "count.pdf": huge_page_count,
    "length.pdf": self_referring_length,
    "cut.pdf": lambda: cut(samples.pdf_file(), 0.6),
    "flipped.pdf": lambda: flipped(samples.pdf_file(), 1),
    "paragraphs.docx": word_of_many_paragraphs,
    "tables.docx": word_of_nested_tables,
    "lists.docx": word_of_nested_lists,
    "laughs.docx": word_of_laughs,
    "foreign.docx": word_of_foreign_entities,
    "bodiless.docx": word_without_body,
    "bomb.docx": lambda: archive_bomb("word/document.xml"),
    "lying.docx": lying_zip,
    "cut.docx": lambda: cut(samples.docx_file(), 0.7),
    "flipped.docx": lambda: flipped(samples.docx_file(), 2),
    "far.xlsx": workbook_of_one_far_cell,
    "shared.xlsx": workbook_of_shared_text,
    "rows.xlsx": workbook_of_empty_rows,
    "bomb.xlsx": lambda: archive_bomb("xl/workbook.xml"),
    "flipped.xlsx": lambda: flipped(samples.xlsx_file(), 3),
    "bare.pptx": slides_without_parts,
    "bomb.pptx": lambda: archive_bomb("ppt/presentation.xml"),
    "cut.pptx": lambda: cut(samples.pptx_file(), 0.8),
    "nested.eml": mail_of_nested_parts,
    "parts.eml": mail_of_many_parts,
    "header.eml": mail_of_one_long_header,
    "addresses.eml": mail_of_many_addresses,
    "comments.eml": mail_of_nested_comments,
    "nested.html": lambda: nested_html("div", 100_000),
    "tables.html": lambda: nested_html("table><tr><td", 2_000),
    "lists.html": lambda: nested_html("ul><li", 3_000),
    "tags.html": lambda: b"<p>hola" + b"<a " * 200_000,
    "images.html": lambda: b"<p>hola</p>" + b"![" * 200_000,
    "figures.md": clauses_of_figures,
    "steps.md": clauses_of_steps,
    "deep.md": clauses_of_deep_numbers,
    "quotes.md": markdown_of_quotes,
    "lists.md": markdown_of_lists,
    "brackets.md": markdown_of_brackets,
    "fences.md": markdown_of_fences,
    "tables.md": markdown_of_tables,
    "headings.md": markdown_of_headings,
    "codes.md": markdown_of_codes,
    "quoted.csv": quoted_csv,
    "wide.csv": wide_csv,
    "bomb.epub": ebook,
    "laughs.rtf": lambda: b"{\\rtf1" + b"{" * 100_000,
    "bomb.odt": lambda: archive_bomb("content.xml"),
    "bomb.zip": lambda: archive_bomb("a.txt"),
    "members.zip": archive_of_many_members,
    "nested.zip": archive_of_archives,
}
