"""Which texts and numbers are times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.memory.chat_turns import moment
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.moments import written_moment
from ragcorp.interface.request_values import parse_filters

TEN = datetime(2026, 11, 3, 10, 0, tzinfo=UTC)
NO_TIMES = [
    "", " ", "ayer", "2026", "2026-11", "2026-13-01", "2026-11-03x10:00", "2026-11-03_10:00", "2026-11-03\u00a010:00",
    "11111111111111111111111111111", "2026110310000", "2026-11-03T", "2026-11-03T25:00", "2026-11-03 10:00 ayer",
    "٢٠٢٦-١١-٠٣", "2026-11-03T10:00\n", "2026-11-03T10:00" + "0" * 40,
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-03T10:00", "2026-11-03 10:00", "2026-11-03t10:00:00", "20261103T1000", "2026-11-03T10:00:00.000",
        "2026-11-03T10:00Z", "2026-11-03T11:00+01:00", "2026-W45-2T10:00",
    ],
)  # fmt: skip
def test_dates_and_times_are_joined_by_t_or_a_blank(text: str) -> None:
    assert moment(text) == TEN


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        written_moment(text)
    with pytest.raises(InvalidInputError):
        parse_filters({"occurred_at": {"$gte": text}})


@pytest.mark.parametrize("text", [text for text in NO_TIMES if not text.isdigit() and text.strip() == text])
def test_what_is_no_time_of_a_turn_either(text: str) -> None:
    with pytest.raises(ValueError):
        moment(text)


@pytest.mark.parametrize("number", [1793700000, 1793700000000, 1793700000000000, 1793700000000000000, "1793700000.0"])
def test_an_epoch_is_in_seconds_or_a_finer_unit(number: float | str) -> None:
    assert moment(number) == TEN


@pytest.mark.parametrize("number", [1e25, 10**40, float("nan"), float("inf"), "1" * 29, True, "9" * 19])
def test_an_epoch_stands_in_the_years_1_to_9999(number: float | str) -> None:
    try:
        told = moment(number)
    except (ValueError, OverflowError, OSError):
        return
    assert number == "9" * 19  # in nanoseconds, a day of 2286
    assert told.year == 2286


@given(st.datetimes(), st.sampled_from("T "))
def test_every_time_that_is_written_is_read(told: datetime, joined: str) -> None:
    assert written_moment(told.isoformat(sep=joined)) == told
