"""RTF, books, notebooks, calendars, contacts, archives, tables as text, old encodings."""

from __future__ import annotations

import json

import pytest

from ragcorp.domain.documents import SourceFile, UnreadKind, UnreadPart
from ragcorp.domain.exceptions import InvalidInputError, UnreadableDocumentError
from ragcorp.infrastructure.parsing.media_types import BY_SUFFIX
from ragcorp.infrastructure.parsing.parser import _READERS, MultiFormatParser
from support.parsing import hostile, samples
from support.parsing.kinds import parse, parts_of, zipped

SPANISH = "El niño compró piñones en Logroño, mañana será otro año."


def test_every_suffix_has_a_reader() -> None:
    assert set(BY_SUFFIX.values()) == set(_READERS)


# RTF, books, notebooks


def test_rtf() -> None:
    text = r"{\rtf1\ansi\ansicpg1252 La fianza del almac\'e9n asciende a 2.750 euros, a\u241?o 2014.\par Fin}"
    assert parse("a.rtf", text.encode()).text == "La fianza del almacén asciende a 2.750 euros, año 2014.\n\nFin"


def book(*chapters: str, **parts: str | bytes) -> bytes:
    """A book of chapters in a folder; a chapter's file may lack."""
    items = "".join(f'<item id="{number}" href="{name}"/>' for number, name in enumerate(chapters))
    order = "".join(f'<itemref idref="{number}"/>' for number in range(len(chapters)))
    return zipped(
        {
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="b/c.opf"/></rootfiles></container>',
            "b/c.opf": (
                '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Guía</dc:title></metadata>'
                f"<manifest>{items}</manifest><spine>{order}</spine></package>"
            ),
        }
        | parts
    )


def test_a_book() -> None:
    chapters = {
        "b/uno a.xhtml": "<html><body><h1>Uno</h1><p>Año</p></body></html>",
        "b/dos.xhtml": "<html><body><ol><li><a href='x'>dos</a></li></ol></body></html>",
    }
    parsed = parse("a.epub", book("uno%20a.xhtml", "dos.xhtml", **chapters))
    assert (parsed.title, parsed.text) == ("Guía", "# Uno\n\nAño\n\n1. [dos](x)")


def test_chapters_in_old_encodings_and_missing_ones() -> None:
    chapters: dict[str, str | bytes] = {
        "b/uno.xhtml": "<?xml version='1.0' encoding='iso-8859-1'?><html><body>Año</body></html>".encode("latin-1"),
        "b/dos.xhtml": "<html><body>dos</body></html>",
        "b/roto.xhtml": b"\x89PNG\r\n" + bytes(99),
    }
    parsed = parse("a.epub", book("uno.xhtml", "Dos.XHTML", "tres.xhtml", "roto.xhtml", **chapters))
    assert parsed.text == "Año\n\ndos"
    assert parts_of(parsed) == {(UnreadKind.MEMBER, 2, ("b/tres.xhtml", "b/roto.xhtml"))}


@pytest.mark.parametrize(("part", "refused"), [("b/uno.xhtml", True), ("", True), ("b/letra.otf", False)])
def test_protected_books(part: str, refused: bool) -> None:
    cipher = f'<CipherData><CipherReference URI="{part}"/></CipherData>' if part else ""
    parts = {
        "META-INF/encryption.xml": f"<encryption><EncryptedData>{cipher}</EncryptedData></encryption>",
        "b/uno.xhtml": "<html><body>uno</body></html>",
    }
    content = book("uno.xhtml", **parts)
    if refused:
        with pytest.raises(UnreadableDocumentError, match="DRM"):
            parse("a.epub", content)
    else:
        assert parse("a.epub", content).text == "uno"


def test_a_notebook() -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Análisis\n", "Del año"]},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "total = 3", "outputs": []},
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    parsed = parse("a.ipynb", text.encode())
    assert "# Análisis" in parsed.text
    assert "```\ntotal = 3\n```" in parsed.text


# calendars, contacts, tables as text


def test_images_of_a_notebook_are_named() -> None:
    picture = {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure>"]}
    output = {"output_type": "display_data", "metadata": {}, "data": picture}
    code = {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "plot()", "outputs": [output]}
    note = {"cell_type": "markdown", "metadata": {}, "source": "Texto", "attachments": {"a.png": picture}}
    content = json.dumps({"cells": [code, note], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert parts_of(parse("a.ipynb", content.encode())) == {(UnreadKind.IMAGE, 2, ())}


def test_a_calendar() -> None:
    event = (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Europe/Madrid:20260312T073000\r\n"
        "SUMMARY:Reunión\\, con\r\n  proveedores\r\nLOCATION:Muelle 4\r\nDESCRIPTION:uno\\ndos\r\n"
        "BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    assert parse("a.ics", event.encode()).text == (
        "## Reunión, con proveedores\n\nDtstart: 12/03/2026 07:30\nLocation: Muelle 4\nDescription: uno dos"
    )


def test_a_contact() -> None:
    card = (
        "BEGIN:VCARD\nVERSION:2.1\nN:Aldana;Remedios\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Remedios Alda=C3=B1a\n"
        "TEL;WORK:976 123 456\nitem1.EMAIL:r@v.example\nEND:VCARD\n"
    )
    assert parse("a.vcf", card.encode()).text == "## Remedios Aldaña\n\nTel (work): 976 123 456\nEmail: r@v.example"


def calendar(*lines: str) -> str:
    return parse("a.ics", "\r\n".join(["BEGIN:VCALENDAR", *lines, "END:VCALENDAR"]).encode()).text


def test_parts_of_an_event_do_not_split_it() -> None:
    assert calendar(
        "BEGIN:VTIMEZONE",
        "BEGIN:STANDARD",
        "DTSTART:19701025T030000",
        "END:STANDARD",
        "END:VTIMEZONE",
        "BEGIN:VEVENT",
        "DTSTART:20260715T080000Z",
        "BEGIN:VALARM",
        "DESCRIPTION:Aviso",
        "END:VALARM",
        "SUMMARY:Comité",
        'ORGANIZER;CN="García, Ana":mailto:a@x.example',
        "ATTENDEE;CN=Luis Peña;PARTSTAT=NEEDS-ACTION:mailto:l@x.example",
        "URL:https://x.example/?id=abc=",
        "LOCATION:Sala 3\\, planta 2",
        "END:VEVENT",
    ) == (
        "## Comité\n\nDtstart: 15/07/2026 08:00 UTC\nOrganizer: García, Ana (a@x.example)\n"
        "Attendee: Luis Peña (l@x.example), needs action\nUrl: https://x.example/?id=abc=\nLocation: Sala 3, planta 2"
    )


@pytest.mark.parametrize(("end", "last"), [("20260318", "17/03/2026"), ("20260316", "16/03/2026")])
def test_the_last_of_whole_days(end: str, last: str) -> None:
    assert calendar(
        "BEGIN:VEVENT",
        "SUMMARY:Fiesta",
        "DTSTART;VALUE=DATE:20260316",
        f"DTEND;VALUE=DATE:{end}",
        "RRULE:FREQ=WEEKLY;UNTIL=20260601T000000Z;BYDAY=MO",
        "EXDATE:20260330T093000Z,20260406T093000Z",
        "END:VEVENT",
    ) == (
        f"## Fiesta\n\nDtstart: 16/03/2026\nDtend: {last}\nRrule: FREQ=WEEKLY;UNTIL=01/06/2026 00:00 UTC;BYDAY=MO\n"
        "Exdate: 30/03/2026 09:30 UTC,06/04/2026 09:30 UTC"
    )


def test_contacts_of_old_telephones() -> None:
    cards = (
        "BEGIN:VCARD\nN:Peña;Luis\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ==\nTEL;CELL;PREF:611222333\n"
        "ADR;TYPE=WORK:;;Mayor 1\\;B;Madrid;;28001;España\nEND:VCARD\n"
        "BEGIN:VCARD\nN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Mu=F1oz;Jos=E9\n"
        "NOTE;ENCODING=QUOTED-PRINTABLE:uno y=\n dos=\n\nTEL;TYPE=WORK,FAX:622\nEND:VCARD\n"
    )
    assert parse("a.vcf", cards.encode()).text == (
        "## Luis Peña\n\nTel (cell): 611222333\nAdr (work): Mayor 1;B, Madrid, 28001, España\n\n"
        "## José Muñoz\n\nNote: uno y dos\nTel (work, fax): 622"
    )


@pytest.mark.parametrize("titles", ["Movimientos de cuenta\n", "Titular: Ana\nCuenta: ES12, corriente\n"])
def test_titles_above_a_table(titles: str) -> None:
    text = parse("a.csv", f"{titles}Fecha;Concepto;Importe\n01/03/2026;Recibo luz;-45,10\n".encode()).text
    above, _, table = text.partition("\n\n| ")
    assert above.replace("\n\n", "\n") + "\n" == titles
    assert table == "Fecha | Concepto | Importe |\n| --- | --- | --- |\n| 01/03/2026 | Recibo luz | -45,10 |"


def test_only_a_quote_at_the_start_of_a_field_quotes() -> None:
    assert parse("a.csv", b'n;p\nTubo 5" acero;12,00\nTubo 3" cobre;9,00\n').text.split("\n")[2:] == [
        '| Tubo 5" acero | 12,00 |',
        '| Tubo 3" cobre | 9,00 |',
    ]


@pytest.mark.parametrize(
    ("filename", "text"),
    [
        ("a.csv", "sep=;\ncódigo;precio\nA-1;1200,5\n"),
        ("a.csv", '"sep=|"\r\ncódigo|precio\r\nA-1|1200,5\r\n'),
        ("a.csv", "sep=\t\ncódigo\tprecio\nA-1\t1200,5\n"),
        ("a.tsv", 'código\tprecio\nA-1\t"1200,5"\n'),
        ("a.csv", "código;precio\nA-1;1200,5\n;\n"),
        ("a.csv", 'código, precio\nA-1, "1200,5"\n'),
        ("a.csv", "código\tprecio\nA-1\t1200,5"),
        ("a.csv", "código|precio\nA-1|1200,5"),
    ],
)
def test_tables_as_text(filename: str, text: str) -> None:
    assert parse(filename, text.encode()).text == "| código | precio |\n| --- | --- |\n| A-1 | 1200,5 |"


def test_a_title_above_a_table_as_text() -> None:
    source = "Ventas, por mes, de 2026\n\nMes;Importe\nenero;1,5\nfebrero;2,5\n"
    assert parse("a.csv", source.encode()).text == (
        "Ventas, por mes, de 2026\n\n| Mes | Importe |\n| --- | --- |\n| enero | 1,5 |\n| febrero | 2,5 |"
    )


# archives


def test_an_archive() -> None:
    content = zipped(
        {
            "carpeta/a.docx": samples.docx_file(),
            "b.txt": "mañana".encode("cp1252"),
            "c.exe": b"\0",
            "d.pdf": b"%PDF-1.7 roto",
            "dentro.zip": zipped({"e.md": "# Hondo"}),
            "__MACOSX/b.txt": "no",
        }
    )
    parsed = parse("a.zip", content)
    assert parsed.text == "- carpeta/a.docx\n- b.txt\n- c.exe\n- d.pdf\n- dentro.zip"
    assert [part.filename for part in parsed.parts] == ["carpeta/a.docx", "b.txt", "d.pdf", "dentro.zip"]
    assert parsed.parts[1].content == "mañana".encode("cp1252")
    assert parts_of(parsed) == {(UnreadKind.MEMBER, 1, ("c.exe",))}


def test_members_that_cannot_be_unpacked_are_named() -> None:
    content = bytearray(zipped({"a.txt": "hola", "b.txt": "adiós", "c.txt": "x"}))
    content[content.index(b"PK\1\2", content.index(b"PK\1\2") + 1) + 8] |= 1  # b.txt is marked as encrypted
    content[content.index(b"PK\1\2") + 16] ^= 1  # the checksum of a.txt
    parsed = parse("a.zip", bytes(content))
    assert [part.filename for part in parsed.parts] == ["c.txt"]
    assert parts_of(parsed) == {(UnreadKind.MEMBER, 2, ("a.txt", "b.txt"))}


def test_an_encrypted_archive() -> None:
    content = bytearray(zipped({"a.txt": "hola"}))
    content[content.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(UnreadableDocumentError, match="password"):
        parse("a.zip", bytes(content))


@pytest.mark.parametrize("encoding", ["utf-8", "cp850"])
def test_names_of_members_in_other_encodings(encoding: str) -> None:
    raw = "año/ÁNGEL.txt".encode(encoding)
    content = zipped({"n" * (len(raw) - 4) + ".txt": "hola"}).replace(b"n" * (len(raw) - 4) + b".txt", raw)
    assert parse("a.zip", content).text == "- año/ÁNGEL.txt"


def test_an_archive_of_many_members() -> None:
    parsed = parse("a.zip", hostile.archive_of_many_members(20_000))
    assert len(parsed.parts) == 1_000
    assert [part.count for part in parsed.unread] == [19_000]
    assert parsed.text.endswith("- 999.txt\n- … (+19,000)")


def test_a_zip_without_readable_members() -> None:
    parsed = parse("a.zip", zipped({"a.exe": b"\0"}))
    assert (parsed.text, parts_of(parsed)) == ("- a.exe", {(UnreadKind.MEMBER, 1, ("a.exe",))})
    with pytest.raises(UnreadableDocumentError, match="no text"):
        parse("a.zip", zipped(dict.fromkeys(["__MACOSX/a.txt", "carpeta/~$a.docx", "Thumbs.db", "b/ehthumbs.db"], "x")))
    with pytest.raises(UnreadableDocumentError, match="damaged"):
        parse("a.zip", b"PK\3\4")


# encodings


@pytest.mark.parametrize("encoding", ["cp850", "mac_roman", "cp1252", "cp437"])
def test_old_encodings(encoding: str) -> None:
    parsed = parse("a.txt", SPANISH.encode(encoding))
    assert parsed.text == SPANISH
    assert not parsed.unread


def test_lines_in_two_encodings() -> None:
    content = "Uno: reunión\n".encode() + "Dos: camión\n".encode("latin-1") + "reuniÃ³n\n".encode()
    assert parse("a.txt", content).text == "Uno: reunión\nDos: camión\nreuniÃ³n\n"


def test_damaged_characters_are_counted() -> None:
    assert parts_of(parse("a.txt", "año \ufffd\ufffd".encode())) == {(UnreadKind.DAMAGED_TEXT, 2, ())}


def test_unread_parts_are_counted_from_one() -> None:
    for count, places in ((0, ()), (1, ("2", "4"))):
        with pytest.raises(InvalidInputError):
            UnreadPart(kind=UnreadKind.PAGE, count=count, places=places)
    assert MultiFormatParser().parse(SourceFile.of_text("# x", media_type="text/markdown")).unread == ()
