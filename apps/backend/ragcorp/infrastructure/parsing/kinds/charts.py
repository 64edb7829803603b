"""Charts and diagrams of Office documents."""

from collections.abc import Iterator
from contextlib import suppress

from ragcorp.infrastructure.parsing.kinds.package import Element, attribute, child, children, local
from ragcorp.infrastructure.parsing.kinds.shown_values import shown_serial

_MOST_POINTS = 10_000


def _titles(chart: Element) -> str:
    """Return the titles of the chart and of its axes."""
    return " · ".join(text for entry in chart.iter() if local(entry) == "title" and (text := _text(entry)))


def chart_rows(chart: Element) -> list[list[str]]:
    """Return the data of a chart as a table: a column of categories, then one for each series."""
    series = [entry for entry in chart.iter() if local(entry) == "ser"]
    since_1904 = any(
        attribute(entry, "val", "1") in ("1", "true") for entry in chart.iter() if local(entry) == "date1904"
    )
    columns = [_points(entry, ("cat", "xVal"), since_1904) for entry in series[:1]]
    columns += [_points(entry, ("val", "yVal"), since_1904) for entry in series]
    names = [_titles(chart), *(_text(name) for entry in series if (name := child(entry, "tx")) is not None)]
    last = max((index for column in columns for index in column), default=-1)
    rows = [[column.get(row, "") for column in columns] for row in range(min(last + 1, _MOST_POINTS))]
    return [names, *rows] if any(names) or rows else []


def _points(series: Element, names: tuple[str, str], since_1904: bool) -> dict[int, str]:
    data = next((found for name in names if (found := child(series, name)) is not None), None)
    number_format = ""
    points: dict[int, str] = {}
    for point in data.iter() if data is not None else ():
        if local(point) == "formatCode":
            number_format = point.text or ""
        elif local(point) == "pt" and (index := point.get("idx", "")).isdecimal():
            text = "".join((value.text or "") for value in children(point, "v"))
            points[int(index)] = _shown(text, point.get("formatCode", number_format), since_1904)
    return points


def _shown(text: str, number_format: str, since_1904: bool) -> str:
    """Return a number by its format, or else without the digits that a binary fraction adds."""
    with suppress(ValueError, ArithmeticError):
        if number_format.lower() not in ("", "general"):
            return shown_serial(float(text), number_format, since_1904=since_1904)
        return f"{float(text):.10g}" if "." in text else text
    return text


def diagram_lines(data: Element) -> Iterator[str]:
    """Yield the text of each box of a SmartArt diagram."""
    for point in data.iter():
        if local(point) == "pt" and (text := _text(point)):
            yield text


def _text(element: Element) -> str:
    """Return the text in ``a:t``, ``c:v`` and the like."""
    return " ".join("".join((part.text or "") for part in element.iter() if local(part) in ("t", "v")).split())
