"""Turns as chat exports write them, and the names that they get."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.memory.chat_turns import TurnDefaults, TurnReader, moment
from ragcorp.application.validation.json_lines import MAX_LINE_BYTES, read_object
from ragcorp.domain.collections import ItemDraft
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError, PayloadTooLargeError
from ragcorp.domain.principal import Principal, Sensitivity

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
DEFAULTS = TurnDefaults(attributes=DocumentAttributes(language="es"))


def reader(defaults: TurnDefaults = DEFAULTS, principal: Principal | None = None) -> TurnReader:
    return TurnReader(defaults=defaults, principal=principal or Principal())


def read(**turn: object) -> ItemDraft:
    return reader().read({"ts": 0, "text": "Hola.", **turn})


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-02T12:00:00Z", "2026-03-02T13:00:00+01:00", "2026-03-02 12:00", " 2026-03-02T12 ", "20260302T120000",
        1772452800, 1772452800.0, "1772452800", "1772452800.000000", 1772452800000, "1772452800000", 1772452800000000,
        1772452800000000000, "1772452800000000000",
    ],
)  # fmt: skip
def test_times_in_every_usual_writing(written: object) -> None:
    assert moment(written) == NOON
    assert moment(written).tzinfo is UTC


def test_eight_digits_are_a_date() -> None:
    assert moment("20260302") == datetime(2026, 3, 2, tzinfo=UTC)
    assert moment("-1") == datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "written", ["", "ayer", "12:00", None, True, [], {}, float("nan"), float("inf"), "1e9", "9" * 50]
)
def test_what_is_no_time(written: object) -> None:
    with pytest.raises((ValueError, OverflowError)):
        moment(written)


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(5000, 1, 1)))  # noqa: DTZ001 - UTC below
def test_a_time_survives_its_writing(naive: datetime) -> None:
    told = naive.replace(tzinfo=UTC)
    assert moment(told.isoformat()) == told
    if abs(told.timestamp()) >= 10:
        assert abs((moment(told.timestamp()) - told).total_seconds()) < 1e-4


def test_the_first_of_several_names_stands() -> None:
    draft = read(content="otro", role="user", author="Rajesh", session_id="x", conversation="y")
    assert (draft.text, draft.speaker, draft.session) == ("Hola.", "Rajesh", "x")
    draft = read(text=None, message="Sí.", speaker="", sender="Priya")
    assert (draft.text, draft.speaker) == ("Sí.", "Priya")


def test_parts_and_authors_as_objects() -> None:
    draft = read(
        text=None, content={"parts": ["uno", {"text": "dos"}, 3, {"image": "x"}]}, author={"name": "", "role": "tool"}
    )
    assert (draft.text, draft.speaker) == ("uno\ndos", "tool")


def test_short_extras_are_kept_as_metadata_and_the_rest_is_left_out() -> None:
    draft = read(score=3, starred=True, note="x", long="x" * 500, nested={"a": 1}, none=None, metadata={"score": 4})
    assert draft.attributes.metadata == {"score": 4, "starred": True, "note": "x"}


def test_defaults_stand_where_a_turn_says_nothing() -> None:
    attributes = DocumentAttributes(
        language="en",
        sensitivity=Sensitivity.CONFIDENTIAL,
        visibility_scope=VisibilityScope.PRIVATE,
        metadata={"from": "x"},
    )
    turns = reader(TurnDefaults(attributes=attributes, session="s"))
    silent = turns.read({"ts": 0, "text": "a"})
    assert (silent.session, silent.attributes.language, silent.attributes.owner) == ("s", "en", "local")
    assert silent.attributes.sensitivity is Sensitivity.CONFIDENTIAL
    assert silent.attributes.metadata == {"from": "x"}
    told = turns.read(
        {
            "ts": 0,
            "text": "a",
            "session": "t",
            "language": "es",
            "sensitivity": "public",
            "visibility_scope": "workspace",
        }
    )
    assert (told.session, told.attributes.language) == ("t", "es")
    assert told.attributes.visibility_scope is VisibilityScope.WORKSPACE
    assert told.attributes.sensitivity is Sensitivity.PUBLIC


def test_nobody_writes_above_their_clearance() -> None:
    with pytest.raises(InvalidInputError, match="clearance"):
        reader(principal=Principal(clearance=Sensitivity.NORMAL)).read(
            {"ts": 0, "text": "a", "sensitivity": "restricted"}
        )


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 1)), max_size=12))
def test_names_tell_all_turns_apart_and_come_again(turns: list[tuple[str, str, int]]) -> None:
    exported = [{"text": text, "speaker": speaker, "ts": time} for text, speaker, time in turns]
    first, again = reader(), reader()
    names = [first.read(turn).named_after for turn in exported]
    assert len(set(names)) == len(names)
    assert [again.read(turn).named_after for turn in exported] == names
    # a longer export of the same conversation keeps the names of what was there
    longer = reader()
    assert [longer.read(turn).named_after for turn in [*exported, *exported]][: len(names)] == names


def test_who_wrote_and_who_may_read_a_turn_is_a_part_of_its_name() -> None:
    other = reader(principal=Principal(subject="otra"))
    names = {
        read().named_after,
        read(visibility_scope="private").named_after,
        read(sensitivity="public").named_after,
        other.read({"ts": 0, "text": "Hola."}).named_after,
        other.read({"ts": 0, "text": "Hola.", "visibility_scope": "private"}).named_after,
    }
    assert len(names) == 5


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b"1", b'"x"', b"null", b"{} {}", b'{"a":NaN}', b'{"a":1,"a":2}', b"\xff", b"[" * 100_000]
)
def test_a_line_is_one_object(line: bytes) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_object(line)
    assert caught.value.field == "line"
    assert caught.value.remedy


def test_a_line_may_begin_with_a_mark_and_not_be_endless() -> None:
    assert read_object(b'\xef\xbb\xbf{"a":1}\r\n') == {"a": 1}
    with pytest.raises(PayloadTooLargeError):
        read_object(b'{"a":"' + b"x" * MAX_LINE_BYTES + b'"}')
