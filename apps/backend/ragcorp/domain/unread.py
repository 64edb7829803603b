"""Which parts of a file its text lacks, as they are stored and shown."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ragcorp.domain.documents import UnreadKind, UnreadPart

MAX_PLACES = 50
MAX_PLACE = 100

IMMATERIAL = frozenset({UnreadKind.FORMATTING, UnreadKind.DAMAGED_TEXT, UnreadKind.IMAGE})
"""Kinds that seldom contain an answer: most images in a document are logos."""

_FILES = frozenset({UnreadKind.ATTACHMENT, UnreadKind.MEMBER})


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


def within(name: str, unread: Iterable[UnreadPart]) -> list[UnreadPart]:
    """Return what a file lacks as what the file lacks that it is in, where its name is ``name``.

    >>> within("a.pdf", [UnreadPart(kind=UnreadKind.PAGE, places=("3",))])[0].places
    ('a.pdf: 3',)
    """
    return [
        replace(part, places=tuple(f"{name}{'/' if part.kind in _FILES else ': '}{place}" for place in part.places))
        if part.places
        else replace(part, places=(name,))
        for part in unread
    ]


def without_read_pages(
    parts: Iterable[UnreadPart], *, name: str, before: Iterable[UnreadPart], after: Iterable[UnreadPart]
) -> tuple[UnreadPart, ...]:
    """Return what a file lacks after pages of the file ``name`` inside it were read, which lacked ``before``."""
    old, new = (
        merged(within(name, (part for part in given if part.kind is UnreadKind.PAGE))) for given in (before, after)
    )
    read = sum(part.count for part in old) - sum(part.count for part in new)
    places_read = {place for part in old for place in part.places} - {place for part in new for place in part.places}
    left: list[UnreadPart] = []
    for part in parts:
        if part.kind is not UnreadKind.PAGE:
            left.append(part)
        elif part.count > read:
            count = part.count - read
            places = tuple(place for place in part.places if place not in places_read)[:count]
            left.append(UnreadPart(kind=part.kind, count=count, places=places))
    return tuple(left)


def may_hold_text(parts: Iterable[UnreadPart]) -> tuple[UnreadPart, ...]:
    """Return the parts in which something could be written that the text does not say."""
    return tuple(part for part in parts if part.kind not in IMMATERIAL)


def _shown_place(place: str) -> str:
    """Return the name of a place on one line, without the characters that no database stores and no reader sees."""
    visible = "".join(" " if unicodedata.category(character).startswith("C") else character for character in place)
    name = " ".join(visible.split())
    return name if len(name) <= MAX_PLACE else f"{name[: MAX_PLACE - 1]}…"
