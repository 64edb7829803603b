"""Tables of Word documents, in a form that Markdown can show."""

from collections.abc import Callable
from copy import deepcopy

from ragcorp.infrastructure.parsing.kinds.package import Element, attribute, child, children, local, paragraphs

_MOST_REPEATED = 200


def simplify_tables(root: Element, paragraph: Callable[[str], Element]) -> None:
    """Unwrap tables of one column, repeat what is merged over several rows, make a line of each nested table."""
    for container in list(root.iter()):
        if any(local(entry) == "tbl" and _is_frame(entry) for entry in container):
            container[:] = _unwrapped(container)
    for table in list(root.iter()):
        if local(table) == "tbl":
            _repeat_merged(table)
    for cell in list(root.iter()):
        if local(cell) == "tc" and child(cell, "tbl") is not None:
            cell[:] = [paragraph(_in_line(entry)) if local(entry) == "tbl" else entry for entry in cell]


def _is_frame(table: Element) -> bool:
    rows = [entry for entry in table if local(entry) not in ("tblPr", "tblGrid")]
    return bool(rows) and all(local(row) == "tr" and len(list(children(row, "tc"))) == 1 for row in rows)


def _unwrapped(container: Element) -> list[Element]:
    contents: list[Element] = []
    for entry in container:
        if local(entry) == "tbl" and _is_frame(entry):
            for row in children(entry, "tr"):
                for cell in children(row, "tc"):
                    contents += [inner for inner in _unwrapped(cell) if local(inner) != "tcPr"]
        else:
            contents.append(entry)
    return contents


def _repeat_merged(table: Element) -> None:
    above: dict[int, Element] = {}
    for row in children(table, "tr"):
        column = _number(child(row, "trPr", "gridBefore"), 0)
        for cell in children(row, "tc"):
            properties = child(cell, "tcPr")
            merge = child(properties, "vMerge")
            if properties is not None and merge is not None:
                properties.remove(merge)
                if attribute(merge, "val") == "restart":
                    above[column] = cell
                elif column in above and len("".join(paragraphs(above[column]))) <= _MOST_REPEATED:
                    cell[:] = [properties, *(deepcopy(entry) for entry in above[column] if local(entry) != "tcPr")]
            column += _number(child(properties, "gridSpan"), 1)


def _in_line(table: Element) -> str:
    rows = ([" ".join(paragraphs(cell)) for cell in children(row, "tc")] for row in children(table, "tr"))
    return "; ".join(", ".join(filter(None, row)) for row in rows)


def _number(element: Element | None, default: int) -> int:
    text = attribute(element, "val")
    return int(text) if text.isdecimal() and len(text) < 5 else default
