"""Which parts of a file its text lacks, as they are stored and shown."""

import unicodedata
from collections import Counter
from collections.abc import Iterable

from ragcorp.domain.documents import UnreadKind, UnreadPart

MAX_PLACES = 50
MAX_PLACE = 100

IMMATERIAL = frozenset({UnreadKind.FORMATTING, UnreadKind.DAMAGED_TEXT})
"""Kinds that hold no text of their own, so no answer either."""


def merged(parts: Iterable[UnreadPart]) -> tuple[UnreadPart, ...]:
    """Return one part for each kind, in the order of ``UnreadKind``, with a bounded number of short places."""
    counts: Counter[UnreadKind] = Counter()
    places: dict[UnreadKind, list[str]] = {kind: [] for kind in UnreadKind}
    for part in parts:
        counts[part.kind] += part.count
        places[part.kind] += part.places[: MAX_PLACES - len(places[part.kind])]
    return tuple(
        UnreadPart(kind=kind, count=counts[kind], places=tuple(map(_shown_place, places[kind])))
        for kind in UnreadKind
        if kind in counts
    )


def may_hold_text(parts: Iterable[UnreadPart]) -> tuple[UnreadPart, ...]:
    """Return the parts in which something could be written that the text does not say."""
    return tuple(part for part in parts if part.kind not in IMMATERIAL)


def _shown_place(place: str) -> str:
    """Return the name of a place on one line, without the characters that no database stores and no reader sees."""
    visible = "".join(" " if unicodedata.category(character).startswith("C") else character for character in place)
    name = " ".join(visible.split())
    return name if len(name) <= MAX_PLACE else f"{name[: MAX_PLACE - 1]}…"
