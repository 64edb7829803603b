"""Presentations: notes with their slide, data of charts, and no damage by a missing picture."""

from __future__ import annotations

import io
from datetime import date
from itertools import pairwise

import pptx
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from ragcorp.domain.documents import ParsedText, UnreadKind
from support.parsing.kinds import parse, parts_of, saved, with_parts


def slides_of(parsed: ParsedText) -> list[str]:
    return [parsed.text[start:end].strip() for start, end in pairwise([*parsed.page_starts, len(parsed.text)])]


def deck_of(titles: list[str]) -> pptx.presentation.Presentation:
    deck = pptx.Presentation()
    for title in titles:
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = title
    return deck


def test_the_note_of_one_slide_belongs_to_it() -> None:
    deck = deck_of(["Uno", "Dos", "Tres"])
    deck.slides[1].notes_slide.notes_text_frame.text = "El margen mínimo es del 18 %."
    assert slides_of(parse("a.pptx", saved(deck))) == ["## Uno", "## Dos\n\nEl margen mínimo es del 18 %.", "## Tres"]


def test_a_chart_is_a_table() -> None:
    deck = deck_of(["Ventas"])
    data = CategoryChartData()
    data.categories = ["T1", "T2"]
    data.add_series("Norte", (38, 47.1))
    data.add_series("Sur", (5, None))
    box = (Inches(1), Inches(1), Inches(4), Inches(3))
    chart = deck.slides[0].shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *box, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Miles de litros"
    assert slides_of(parse("a.ppsx", saved(deck))) == [
        "## Ventas\n\n| Miles de litros | Norte | Sur |\n| --- | --- | --- |\n| T1 | 38 | 5 |\n| T2 | 47.1 |  |"
    ]


def test_a_chart_shows_its_values_by_their_format() -> None:
    deck = deck_of(["Ventas"])
    data = CategoryChartData(number_format="0.0%")
    data.categories = [date(2026, 1, 31), date(2026, 2, 28)]
    data.add_series("Margen", (0.125, 0.5))
    deck.slides[0].shapes.add_chart(XL_CHART_TYPE.LINE, 0, 0, Inches(4), Inches(3), data)
    (slide,) = slides_of(parse("a.pptx", saved(deck)))
    assert slide.splitlines()[-2:] == ["| 2026-01-31 | 12,5 % |", "| 2026-02-28 | 50,0 % |"]


def test_a_picture_that_is_missing_is_no_damage() -> None:
    deck = deck_of(["Con texto"])
    picture = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(picture, "PNG")
    deck.slides[0].shapes.add_picture(io.BytesIO(picture.getvalue()), 0, 0)
    whole = saved(deck)
    assert parts_of(parse("a.pptx", whole)) == {(UnreadKind.IMAGE, 1, ())}
    assert parse("a.pptx", with_parts(whole, {}, without=["ppt/media/image1.png"])).text == "## Con texto"


def test_tables_groups_and_markdown_signs() -> None:
    deck = deck_of(["Grupo"])
    shapes = deck.slides[0].shapes
    box = shapes.add_group_shape().shapes.add_textbox(0, 0, Inches(1), Inches(1))
    box.text_frame.text = "# no es un título\vsigue"
    table = shapes.add_table(2, 2, 0, 0, Inches(2), Inches(1)).table
    for row, cells in enumerate((("Formato", "PVP"), ("Lata | 5 l", "41,90 €"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    assert parse("a.pptx", saved(deck)).text == (
        "## Grupo\n\n\\# no es un título sigue\n\n| Formato | PVP |\n| --- | --- |\n| Lata \\| 5 l | 41,90 € |"
    )


def test_merged_cells_and_titles_of_axes() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    cells = slide.shapes.add_table(3, 2, 0, 0, Inches(4), Inches(2)).table
    for number, text in enumerate(["Zona", "Tarifa", "Norte", "120", "", "215"]):
        cells.cell(number // 2, number % 2).text = text
    cells.cell(1, 0).merge(cells.cell(2, 0))
    data = CategoryChartData()
    data.categories = ["T1"]
    data.add_series("Lata", (38,))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.LINE, 0, 0, Inches(3), Inches(3), data).chart
    chart.value_axis.has_title = True
    chart.value_axis.axis_title.text_frame.text = "Miles de litros"
    text = parse("a.pptx", saved(deck)).text
    assert text.startswith("| Zona | Tarifa |\n| --- | --- |\n| Norte | 120 |\n| Norte | 215 |")
    assert "| Miles de litros | Lata |\n| --- | --- |\n| T1 | 38 |" in text


def test_comments_of_slides() -> None:
    comment = '<cmLst><cm authorId="0"><pos x="1" y="1"/><text>Falta el 2025</text></cm></cmLst>'
    authors = '<cmAuthorLst><cmAuthor id="0" name="Fermín"/></cmAuthorLst>'
    content = with_parts(
        saved(deck_of(["Uno"])),
        {"ppt/c.xml": comment, "ppt/a.xml": authors},
        relations={
            "ppt/slides/slide1.xml": [("comments", "../c.xml")],
            "ppt/presentation.xml": [("commentAuthors", "a.xml")],
        },
    )
    assert parse("a.pptx", content).text == "## Uno\n\nComentario de Fermín: Falta el 2025"
