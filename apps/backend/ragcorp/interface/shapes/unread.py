"""Parts of a file that were not read, as JSON and in words."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from ragcorp.domain.documents import UnreadKind, UnreadPart

SHOWN_PLACES = 10

_WORDS = {
    UnreadKind.PAGE: ("page has no text", "pages have no text"),
    UnreadKind.ATTACHMENT: ("attachment was not read", "attachments were not read"),
    UnreadKind.MEMBER: ("file inside it was not read", "files inside it were not read"),
    UnreadKind.HIDDEN_SHEET: ("hidden sheet was not read", "hidden sheets were not read"),
    UnreadKind.FORMULA: ("formula has no stored value", "formulas have no stored value"),
    UnreadKind.ANNOTATION: ("annotation was not read", "annotations were not read"),
    UnreadKind.IMAGE: ("image was not read", "images were not read"),
    UnreadKind.EMBEDDED_OBJECT: ("embedded object was not read", "embedded objects were not read"),
    UnreadKind.DAMAGED_TEXT: ("character is damaged", "characters are damaged"),
    UnreadKind.FORMATTING: ("number format was not read", "number formats were not read"),
}


class Unread(TypedDict):
    """Parts of one kind that were not read."""

    kind: UnreadKind
    count: int
    places: Annotated[list[str], Field(description="Page numbers or names of the first of them, if known.")]


def unread_parts(parts: Sequence[UnreadPart]) -> list[Unread]:
    return [{"kind": part.kind, "count": part.count, "places": list(part.places)} for part in parts]


def unread_in_words(parts: Sequence[UnreadPart]) -> str:
    """Return ``2 pages have no text: 2, 4; 1 image was not read``."""
    return "; ".join(map(_in_words, parts))


def _in_words(part: UnreadPart) -> str:
    one, several = _WORDS[part.kind]
    shown = ", ".join(part.places[:SHOWN_PLACES])
    more = ", …" if shown and part.count > SHOWN_PLACES else ""
    return f"{part.count:,} {one if part.count == 1 else several}" + (f": {shown}{more}" if shown else "")
