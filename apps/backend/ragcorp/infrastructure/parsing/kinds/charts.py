"""Charts and diagrams of Office documents."""

from collections.abc import Iterator
from contextlib import suppress

from ragcorp.infrastructure.parsing.kinds.package import Element, child, children, local

_MOST_POINTS = 10_000


def _titles(chart: Element) -> str:
    """Return the titles of the chart and of its axes."""
    return " · ".join(text for entry in chart.iter() if local(entry) == "title" and (text := _text(entry)))


def chart_rows(chart: Element) -> list[list[str]]:
    """Return the data of a chart as a table: a column of categories, then one for each series."""
    series = [entry for entry in chart.iter() if local(entry) == "ser"]
    columns = [_points(entry, "cat", "xVal") for entry in series[:1]]
    columns += [_points(entry, "val", "yVal") for entry in series]
    names = [_titles(chart), *(_text(name) for entry in series if (name := child(entry, "tx")) is not None)]
    last = max((index for column in columns for index in column), default=-1)
    rows = [[column.get(row, "") for column in columns] for row in range(min(last + 1, _MOST_POINTS))]
    return [names, *rows] if any(names) or rows else []


def _points(series: Element, *names: str) -> dict[int, str]:
    data = next((found for name in names if (found := child(series, name)) is not None), None)
    points: dict[int, str] = {}
    for point in data.iter() if data is not None else ():
        if local(point) == "pt" and (index := point.get("idx", "")).isdecimal():
            points[int(index)] = _plain_number("".join((value.text or "") for value in children(point, "v")))
    return points


def _plain_number(text: str) -> str:
    """Return a number without the digits that a binary fraction adds."""
    with suppress(ValueError):
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
