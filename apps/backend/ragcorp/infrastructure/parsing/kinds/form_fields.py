"""The filled fields of PDF forms, each at the label that is printed beside it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

_LINE_HEIGHT = 1.5
"""Height of the strip above a field, in heights of the field, where its label may be."""
_TICKED = frozenset({"on", "yes", "1", "x", "true", "sí", "si"})
_HIDDEN = 1 << 1
_PASSWORD = 1 << 13


class FormField(NamedTuple):
    """``box`` is left, bottom, right and top in points. ``name`` is the field's own, which a reader may never see."""

    name: str
    value: str
    box: tuple[float, float, float, float] | None
    is_ticked: bool


def form_fields(page: Any) -> Iterator[FormField]:
    """Yield the filled fields of a page of pypdf, without hidden ones and passwords."""
    for reference in page.get("/Annots") or ():
        annotation = reference.get_object()
        kind = _inherited(annotation, "/FT")
        is_password = kind == "/Tx" and _flags(_inherited(annotation, "/Ff")) & _PASSWORD
        if annotation.get("/Subtype") != "/Widget" or _flags(annotation.get("/F")) & _HIDDEN or is_password:
            continue
        value = _inherited(annotation, "/V")
        values = value if isinstance(value, list) else [value]
        options = _options(annotation)
        shown = ", ".join(options.get(item, item) for item in values if isinstance(item, str) and item != "/Off")
        is_button = kind == "/Btn"
        if is_button:
            shown = "" if annotation.get("/AS", "/Off") in ("/Off", "") else shown.removeprefix("/")
            shown = "sí" if shown.lower() in _TICKED else shown
        if shown.strip():
            box = annotation.get("/Rect")
            yield FormField(
                name=str(_inherited(annotation, "/TU") or _inherited(annotation, "/T") or ""),
                value=" ".join(shown.split()),
                box=(float(box[0]), float(box[1]), float(box[2]), float(box[3]))
                if box is not None and len(box) == 4
                else None,
                is_ticked=is_button,
            )


def filled(text: str, fields: Sequence[FormField], labels: Sequence[str]) -> str:
    """Return the text of a page with each value after its label; those without one follow as ``- name: value``."""
    rest = []
    for item, label in zip(fields, labels, strict=True):
        if label and not item.is_ticked and text.count(label) == 1:
            text = text.replace(label, f"{label} {item.value}")
        else:
            rest.append(f"- {label.rstrip(': ') or item.name}: {item.value}")
    return "\n".join([text, *rest])


def printed_labels(data: bytes, fields: Mapping[int, Sequence[FormField]]) -> dict[int, list[str]]:
    """Return the labels of the fields of each page (from 0): left of a field, else above it; right of a box to tick.

    A label that is not found is empty.
    """
    import pypdfium2

    labels = {number: [""] * len(of_page) for number, of_page in fields.items()}
    with suppress(pypdfium2.PdfiumError), pypdfium2.PdfDocument(data) as document:
        for number, of_page in fields.items():
            page = document[number]
            text_page = page.get_textpage()
            labels[number] = [_label(text_page, item, of_page, page.get_width()) for item in of_page]
            text_page.close()
            page.close()
    return labels


def _label(text_page: Any, item: FormField, others: Sequence[FormField], width: float) -> str:
    if item.box is None:
        return ""
    left, bottom, right, top = item.box
    on_line = [other.box for other in others if other.box and other.box[1] < top and other.box[3] > bottom]
    if item.is_ticked:
        end = min((box[0] for box in on_line if box[0] >= right), default=width)
        return _printed(text_page, right, bottom, end, top)
    begin = max((box[2] for box in on_line if box[2] <= left), default=0.0)
    above = (left - 2, top, max(right, left + 1), top + _LINE_HEIGHT * (top - bottom))
    return _printed(text_page, begin, bottom, left, top) or _printed(text_page, *above)


def _printed(text_page: Any, left: float, bottom: float, right: float, top: float) -> str:
    """Return the last line of text inside a box."""
    lines = text_page.get_text_bounded(left, bottom, right, top).splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _options(annotation: Any) -> dict[str, str]:
    """Return the text that is shown for each value of a list; for buttons, by the names of their states."""
    options: dict[str, str] = {}
    for place, entry in enumerate(_inherited(annotation, "/Opt") or ()):
        option = entry.get_object()
        if isinstance(option, list) and len(option) == 2:
            options[str(option[0])] = str(option[1])
        elif not isinstance(option, list):
            options[f"/{place}"] = str(option)
    return options


def _flags(value: object) -> int:
    return value if isinstance(value, int) else 0


def _inherited(annotation: Any, key: str) -> Any:
    """Return an entry of a field, or of those above it."""
    for _ in range(20):
        if key in annotation:
            return annotation[key]
        if "/Parent" not in annotation:
            break
        annotation = annotation["/Parent"]
    return None
