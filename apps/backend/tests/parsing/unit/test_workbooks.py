"""Workbooks: values as they are shown, comments in their cells, hidden sheets named."""

# ruff: noqa: DTZ001 - cells have no time zone

from __future__ import annotations

import io
import re
import zipfile
from datetime import datetime, time, timedelta

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment

from ragcorp.domain.documents import UnreadKind
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.parsing.kinds.shown_values import shown
from support.parsing.kinds import parse, part_of, parts_of, saved, with_parts, zipped


@pytest.mark.parametrize(
    ("value", "number_format", "expected"),
    [
        (0.4446673526263812, "0.0%", "44,5 %"),
        (0.21, "0%", "21 %"),
        (417, "00000", "00417"),
        (2260.8, '#,##0.00 "€"', "2.260,80 €"),
        (2260.8, "#,##0.00\\ [$€-C0A]", "2.260,80 €"),
        (2260.8, "[$$-409]#,##0.00", "$2,260.80"),
        (1234567.891, "#,##0", "1.234.568"),
        (0.5, "#,##0.00", "0,50"),
        (0.5, "#.##", ",5"),
        (1234567, "#,##0,", "1.235"),
        (-12.5, "0.0", "-12,5"),
        (-12.5, "0.0;(0.0)", "(12,5)"),
        (-12.5, "0.0;[Red]-0.0", "-12,5"),
        (0, '0;-0;"nada"', "nada"),
        (976123456, "000\\ 00\\ 00\\ 00", "976 12 34 56"),
        (12345, "0.00E+00", "1,23E+04"),
        (3, '0 "uds."', "3 uds."),
        (2.675, "0.00", "2,68"),
        (1200.5, "General", "1200.5"),
        (95, "General", "95"),
        (0.1 + 0.2, "General", "0.3"),
        (1.5, "# ?/?", "1 1/2"),
        (0.5, "# ?/?", "1/2"),
        (2, "# ?/?", "2"),
        (0.75, "?/?", "3/4"),
        (0.3, "# ?/8", "2/8"),
        (0, "#,##0.00;-#,##0.00;;@", ""),
        (0, "dd/mm/yyyy", ""),
        (time(), "dd/mm/yyyy", ""),
        (5, ";;;", ""),
        (417, "@", "417"),
        (5, '"Total: "@', "5"),
        (1500000, '#,##0.0,,"M€"', "1,5M€"),
        (2500, '0.0,"k"', "2,5k"),
        (2500, '[>=1000]0.0,"k";0', "2,5k"),
        (500, '[>=1000]0.0,"k";0', "500"),
        (1, '[=1]"Alta";[=2]"Baja";General', "Alta"),
        (2, '[=1]"Alta";[=2]"Baja";General', "Baja"),
        (3.5, '[=1]"Alta";[=2]"Baja";General', "3,5"),
        (-2500, "[<0]0.0;0", "-2500,0"),
        (-1234.5, "#,##0.00;[Red]#,##0.00", "-1.234,50"),
        (-3, '0" uds";[Red]0" uds"', "-3 uds"),
        (-3, '0" D";0" H"', "3 H"),
        (2.5, 'General" kg"', "2,5 kg"),
        (1234567890.12, "General", "1234567890.12"),
        (-0.4, "#,##0", "0"),
        (-1234.5, "#,##0.00_);(#,##0.00)", "(1.234,50)"),
        (1e30, "0.00", "1" + "0" * 30 + ",00"),
        (float("inf"), "0.00", "inf"),
        (1e300, "0.00", "1e+300"),
        (12, ".00", "12,00"),
        (1234567.891, "#,##0.0#", "1.234.567,89"),
        (1234, "0000000", "0001234"),
        (1234567, "0,000,000,000", "0.001.234.567"),
        (3.0, "0.##", "3"),
        (10, '0" %"', "10 %"),
        (1234.5, "0" * 300, "1234.5"),
        (0.0525, '0.0%;"("0.0%")"', "5,3 %"),
        (34600112233, "+## ### ### ###", "+34 600 112 233"),
        (timedelta(hours=-6, minutes=-15), "[h]:mm", "-6:15"),
        ("texto", "@", "texto"),
        (True, "General", "true"),
        (datetime(2026, 3, 15), "dd/mm/yyyy", "15/03/2026"),
        (datetime(2026, 3, 15), "mm-dd-yy", "15/03/2026"),
        (datetime(2026, 3, 15, 9, 5), "d/m/yy h:mm", "15/3/26 9:05"),
        (datetime(2026, 3, 15), "yyyy-mm-dd h:mm:ss", "2026-03-15"),
        (datetime(2026, 3, 15), '[$-C0A]d "de" mmmm "de" yyyy;@', "15 de marzo de 2026"),
        (datetime(2026, 3, 15), "[$-409]mmmm d\\, yyyy", "March 15, 2026"),
        (datetime(2026, 3, 15), "dddd", "domingo"),
        (datetime(2026, 3, 15, 17, 4), "h:mm AM/PM", "5:04 PM"),
        (time(14, 5), "hh:mm", "14:05"),
        (timedelta(hours=26, minutes=15), "[h]:mm", "26:15"),
        (timedelta(hours=26, minutes=15), "[h]:mm:ss", "26:15:00"),
        (timedelta(minutes=90), "[m]", "90"),
    ],
)
def test_shown_values(value: object, number_format: str, expected: str) -> None:
    assert shown(value, number_format) == expected


def book(*rows: list[object]) -> openpyxl.Workbook:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    return made


def test_a_budget() -> None:
    made = book(["PRESUPUESTO 2026"], [], ["Partida", "Importe", "%", "Fecha"], ["Publicidad", 9500, 0.196, None])
    sheet = made.active
    sheet.title = "Resumen"
    sheet["B4"].number_format = '#,##0.00 "€"'
    sheet["C4"].number_format = "0.0%"
    sheet["D4"] = datetime(2026, 10, 12)
    sheet["D4"].number_format = "dd/mm/yyyy"
    sheet["B4"].comment = Comment("Pendiente de aprobar", "Lucía")
    made.create_sheet("Febrero").append(["FAC-1207"])
    hidden = made.create_sheet("Sueldos")
    hidden.append(["secreto", 31200])
    hidden.sheet_state = "hidden"
    parsed = parse("a.xlsx", saved(made))
    assert parsed.text == (
        "## Resumen\n\nPRESUPUESTO 2026\n\n| Partida | Importe | % | Fecha |\n| --- | --- | --- | --- |\n"
        "| Publicidad | 9.500,00 € (Comentario de Lucía: Pendiente de aprobar) | 19,6 % | 12/10/2026 |\n\n"
        "## Febrero\n\n| FAC-1207 |\n| --- |"
    )
    assert parts_of(parsed) == {(UnreadKind.HIDDEN_SHEET, 1, ("Sueldos",))}


@pytest.mark.parametrize(
    "epoch", [openpyxl.utils.datetime.CALENDAR_WINDOWS_1900, openpyxl.utils.datetime.CALENDAR_MAC_1904]
)
def test_durations(epoch: datetime) -> None:
    made = book(["Horas", timedelta(hours=26, minutes=15)])
    made.epoch = epoch
    made.active["B1"].number_format = "[h]:mm"
    assert "| Horas | 26:15 |" in parse("a.xlsm", saved(made)).text


def test_formulas_without_a_result_are_named() -> None:
    parsed = parse("a.xlsx", saved(book(["Total", "=1+1"])))
    assert parts_of(parsed) == {(UnreadKind.FORMULA, 1, ())}


def test_a_workbook_that_openpyxl_refuses_is_read_without_its_hidden_sheets() -> None:
    made = book(["uno", 1])
    made.create_sheet("Sueldos").append(["secreto"])
    made["Sueldos"].sheet_state = "veryHidden"
    style = part_of(saved(made), "xl/styles.xml").replace("<left", '<left style="bogus"', 1)
    parsed = parse("a.xlsx", with_parts(saved(made), {"xl/styles.xml": style}))
    assert "uno" in parsed.text
    assert "secreto" not in parsed.text
    assert (UnreadKind.FORMATTING, 1, ()) in parts_of(parsed)


def test_a_thread_of_comments_and_a_text_box() -> None:
    made = book(["Partida", 5])
    made.active["B1"].comment = Comment("[Threaded comment] Your version ...", "tc={1}")
    thread = '<t><threadedComment ref="B1" personId="p"><text>Revisar</text></threadedComment></t>'
    persons = '<personList><person displayName="Lucía" id="p"/></personList>'
    drawing = "<wsDr><sp><txBody><p><r><t>Nota en un cuadro</t></r></p></txBody></sp></wsDr>"
    content = with_parts(
        saved(made),
        {"xl/threads.xml": thread, "xl/persons.xml": persons, "xl/box.xml": drawing},
        relations={
            "xl/worksheets/sheet1.xml": [("threadedComment", "../threads.xml"), ("drawing", "../box.xml")],
            "xl/workbook.xml": [("person", "persons.xml")],
        },
    )
    text = parse("a.xlsx", content).text
    assert "| Partida | 5 (Comentario de Lucía: Revisar) |" in text
    assert "Nota en un cuadro" in text
    assert "Threaded" not in text


def table_of(made: openpyxl.Workbook) -> list[str]:
    return parse("a.xlsx", saved(made)).text.split("\n\n")[1:]


def test_merged_headings_and_values() -> None:
    made = book(
        ["Ventas 2026"], ["Zona", "Trimestres"], [None, "T1", "T2"], ["Norte", 10, 20], [None, 30, 40], ["Sur", 5, 6]
    )
    for area in ("A1:C1", "B2:C2", "A2:A3", "A4:A5"):
        made.active.merge_cells(area)
    assert table_of(made) == [
        "Ventas 2026",
        (
            "| Zona | Trimestres T1 | Trimestres T2 |\n| --- | --- | --- |\n"
            "| Norte | 10 | 20 |\n| Norte | 30 | 40 |\n| Sur | 5 | 6 |"
        ),
    ]


def test_several_tables_on_a_sheet() -> None:
    made = book(["Uno"], ["A", "B"], [1, 2], [], ["Dos"], ["C", "D", "E"], [3, 4, 5], [], ["Total", 9])
    assert table_of(made) == [
        "Uno",
        "| A | B |\n| --- | --- |\n| 1 | 2 |",
        "Dos",
        "| C | D | E |\n| --- | --- | --- |\n| 3 | 4 | 5 |\n| Total | 9 |  |",
    ]


def test_a_first_cell_without_heading() -> None:
    assert table_of(book([None, "Importe"], ["Cuota", 85])) == ["|  | Importe |\n| --- | --- |\n| Cuota | 85 |"]


def test_titles_of_charts() -> None:
    made = book(["Mes", "V"], ["ene", 1])
    chart = BarChart()
    chart.title = "Ventas por mes"
    chart.add_data(Reference(made.active, min_col=2, min_row=1, max_row=2), titles_from_data=True)
    made.active.add_chart(chart, "E5")
    assert table_of(made) == ["| Mes | V |\n| --- | --- |\n| ene | 1 |", "Ventas por mes"]


def test_a_workbook_of_excel_97() -> None:
    xlwt = pytest.importorskip("xlwt")
    made = xlwt.Workbook()
    sheet = made.add_sheet("Datos")
    sheet.write(0, 0, "Día")
    sheet.write(0, 1, 0.21, xlwt.easyxf(num_format_str="0%"))
    sheet.write(1, 0, datetime(2026, 3, 15), xlwt.easyxf(num_format_str="DD/MM/YYYY"))
    made.add_sheet("Sueldos").write(0, 0, "secreto")
    made.get_sheet(1).visibility = 1
    parsed = parse("a.xls", saved(made))
    assert parsed.text == "## Datos\n\n| Día | 21 % |\n| --- | --- |\n| 15/03/2026 |  |"
    assert parts_of(parsed) == {(UnreadKind.HIDDEN_SHEET, 1, ("Sueldos",))}


def test_one_odd_number_leaves_the_others_as_shown() -> None:
    made = book(["Importe", 1234.5], ["Enorme", 1e30], ["Negativa", -0.26041666666666669])
    for cell, number_format in (("B1", "#,##0.00"), ("B2", "0.00"), ("B3", "[h]:mm")):
        made.active[cell].number_format = number_format
    parsed = parse("a.xlsx", saved(made))
    assert "| Importe | 1.234,50 |" in parsed.text
    assert "| Negativa | -6:15 |" in parsed.text
    assert not parsed.unread


@pytest.mark.parametrize("since_1904", [False, True])
def test_durations_and_odd_dates_of_excel_97(since_1904: bool) -> None:
    xlwt = pytest.importorskip("xlwt")
    made = xlwt.Workbook()
    made.dates_1904 = since_1904
    sheet = made.add_sheet("Horas")
    values = [(26.25 / 24, "[h]:mm"), (0.5 / 24, "h:mm"), (3_000_000, "dd/mm/yyyy"), (-1, "dd/mm/yyyy"), (1e30, "0.00")]
    for row, (value, number_format) in enumerate(values):
        sheet.write(row, 0, f"{row}")
        sheet.write(row, 1, value, xlwt.easyxf(num_format_str=number_format))
    text = parse("a.xls", saved(made)).text
    assert "| 0 | 26:15 |" in text
    assert "| 1 | 0:30 |" in text
    assert "| 2 | 3000000 |" in text
    assert f"| 3 | {'31/12/1903' if since_1904 else '-1'} |" in text


def test_comments_on_cells_without_a_value() -> None:
    made = book(["A", "B"], [1, 2])
    for cell in ("B5", "D2"):
        made.active[cell].comment = Comment(f"Sobre {cell}", "Ana")
    sheet = part_of(saved(made), "xl/worksheets/sheet1.xml")
    bare = re.sub(r'<c r="(?:B5|D2)"[^<>]*></c>', "", sheet)
    assert bare != sheet
    text = parse("a.xlsx", with_parts(saved(made), {"xl/worksheets/sheet1.xml": bare})).text
    assert "Comentario de Ana: Sobre B5" in text
    assert "Comentario de Ana: Sobre D2" in text


@pytest.mark.parametrize("result", ["<v></v>", "<v/>", "<v>x</v>"])
def test_an_empty_text_is_a_result(result: str) -> None:
    sheet = part_of(saved(book(["A", '=IF(A1="A","","x")'])), "xl/worksheets/sheet1.xml")
    mended = re.sub(r'<c r="B1"[^<>]*>(<f>.*?</f>).*?</c>', rf'<c r="B1" t="str">\1{result}</c>', sheet)
    assert mended != sheet
    made = with_parts(saved(book(["A", "b"])), {"xl/worksheets/sheet1.xml": mended})
    assert not parse("a.xlsx", made).unread


def test_a_strict_workbook() -> None:
    made = book(["Factura", "Importe"], ["F-1", 1234.5])
    made.active["B2"].number_format = '#,##0.00 "€"'
    with zipfile.ZipFile(io.BytesIO(saved(made))) as archive:
        parts = {
            name: re.sub(
                r"http://schemas.openxmlformats.org/(spreadsheetml|officeDocument)/2006/",
                r"http://purl.oclc.org/ooxml/\1/",
                archive.read(name).decode(),
            )
            for name in archive.namelist()
        }
    assert "| F-1 | 1.234,50 € |" in parse("a.xlsx", zipped(parts)).text


def test_the_first_bytes_show_the_kind() -> None:
    web = b"<html><body><table><tr><td>Importe</td><td>5</td></tr></table></body></html>"
    table = "| Importe | 5 |"
    assert table in parse("a.xls", web).text
    assert table in parse("a.doc", b"\xef\xbb\xbf\r\n" + web).text
    assert table in parse("a.xls", b"Importe\t5\nIVA\t1,05\n").text
    assert table in parse("a.xls", "Importe\t5\nIVA\t1,05\n".encode("utf-16")).text
    assert table in parse("a.doc", b"MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n" + web).text
    assert table in parse("a.xls", b"Importe;5\nIVA;1,05\n").text
    assert table in parse("a.xls", saved(book(["Importe", 5]))).text
    assert "Hola ñ" in parse("a.doc", rb"{\rtf1\ansi Hola \'f1}").text
    with pytest.raises(UnreadableDocumentError):
        parse("a.xls", b"\0\1;\2")
