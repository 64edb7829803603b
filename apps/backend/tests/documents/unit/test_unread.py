"""What was not read of a file, merged and in words."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import UnreadKind, UnreadPart
from ragcorp.domain.unread import MAX_PLACE, MAX_PLACES, may_hold_text, merged, within, without_read_pages
from ragcorp.interface.shapes.unread import unread_in_words


def part(kind: UnreadKind, count: int = 1, *places: str) -> UnreadPart:
    return UnreadPart(kind=kind, count=count, places=places)


def test_parts_of_one_kind_become_one() -> None:
    parts = (
        part(UnreadKind.IMAGE, 3),
        part(UnreadKind.PAGE, 1, "2"),
        part(UnreadKind.IMAGE),
        part(UnreadKind.PAGE, 2, "4"),
    )
    assert merged(parts) == (part(UnreadKind.PAGE, 3, "2", "4"), part(UnreadKind.IMAGE, 4))


def test_places_are_few_short_and_storable() -> None:
    names = [f"{number}-{'a' * 300}" for number in range(80)]
    (one,) = merged([part(UnreadKind.MEMBER, 80, *names), part(UnreadKind.MEMBER, 1, "otro.exe")])
    assert one.count == 81
    assert len(one.places) == MAX_PLACES
    assert {len(place) for place in one.places} == {MAX_PLACE}
    (odd,) = merged([part(UnreadKind.MEMBER, 1, "a\x00b\nc\udce9\u202ed.exe")])
    assert odd.places == ("a b c d.exe",)


@pytest.mark.parametrize("kind", list(UnreadKind))
def test_every_kind_has_words(kind: UnreadKind) -> None:
    assert unread_in_words((part(kind),)).startswith("1 ")
    assert unread_in_words((part(kind, 2, "x"),)).endswith(": x")


def test_the_words_name_the_places() -> None:
    pages = tuple(map(str, range(1, 31)))
    parts = (part(UnreadKind.PAGE, 2, "2", "4"), part(UnreadKind.IMAGE))
    assert unread_in_words(parts) == "2 pages have no text: 2, 4; 1 image was not read"
    assert unread_in_words((part(UnreadKind.PAGE, 30, *pages),)) == (
        "30 pages have no text: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"
    )


def test_pages_that_were_read_are_those_of_one_file() -> None:
    acta, long = [part(UnreadKind.PAGE, 2, "1", "2")], [part(UnreadKind.PAGE, 1, "1")]
    long_name = f"{'x' * 200}.pdf"
    lacks = merged([*within("acta.pdf", acta), *within("copia-acta.pdf", acta), *within(long_name, long)])
    left = without_read_pages(lacks, name="acta.pdf", before=acta, after=[part(UnreadKind.PAGE, 1, "2")])
    assert left[0].count == 4
    assert left[0].places[:3] == ("acta.pdf: 2", "copia-acta.pdf: 1", "copia-acta.pdf: 2")
    assert without_read_pages(left, name=long_name, before=long, after=[])[0].places == left[0].places[:3]


def test_formatting_and_images_are_no_answers() -> None:
    formatting, page = part(UnreadKind.FORMATTING), part(UnreadKind.PAGE)
    assert may_hold_text((formatting, part(UnreadKind.DAMAGED_TEXT), part(UnreadKind.IMAGE), page)) == (page,)
