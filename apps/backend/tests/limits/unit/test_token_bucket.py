"""A bucket gives its burst at once, then its rate, by the clock that it is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.limits import token_bucket
from ragcorp.application.limits.token_bucket import TokenBuckets


def test_burst_then_rate() -> None:
    buckets = TokenBuckets(per_minute=60, burst=3)
    assert [buckets.take("a", now=10.0) for _ in range(4)] == [0.0, 0.0, 0.0, 1.0]
    assert buckets.take("a", now=10.75) == pytest.approx(0.25)
    assert buckets.take("a", now=11.0) == 0.0
    assert buckets.take("a", now=11.0) == pytest.approx(1.0)


def test_a_bucket_fills_to_its_burst_and_no_further() -> None:
    buckets = TokenBuckets(per_minute=60, burst=2)
    buckets.take("a", now=0.0)
    assert [buckets.take("a", now=1e6) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_keys_do_not_take_from_one_another() -> None:
    buckets = TokenBuckets(per_minute=60, burst=1)
    assert buckets.take("a", now=0.0) == 0.0
    assert buckets.take("b", now=0.0) == 0.0
    assert buckets.take("a", now=0.0) > 0.0


def test_a_clock_that_goes_back_gives_nothing() -> None:
    buckets = TokenBuckets(per_minute=60, burst=1)
    buckets.take("a", now=100.0)
    assert buckets.take("a", now=50.0) == 1.0
    assert buckets.take("a", now=50.5) == pytest.approx(0.5)


def test_the_number_of_buckets_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_bucket, "MOST_KEYS", 2)
    buckets = TokenBuckets(per_minute=60, burst=1)
    for key in ("a", "b", "c"):
        buckets.take(key, now=0.0)
    assert buckets.take("c", now=0.0) == 1.0
    assert buckets.take("a", now=0.0) == 0.0  # forgotten, so full again


@given(
    moments=st.lists(st.floats(0, 600), min_size=1, max_size=200).map(sorted),
    per_minute=st.integers(1, 600),
    burst=st.integers(1, 20),
)
def test_never_more_than_burst_and_rate(moments: list[float], per_minute: int, burst: int) -> None:
    buckets = TokenBuckets(per_minute=per_minute, burst=burst)
    taken = [now for now in moments if buckets.take("a", now=now) == 0.0]
    for start, first in enumerate(taken):
        within = [now for now in taken[start:] if now <= first + 60]
        assert len(within) <= burst + per_minute + 1


@given(now=st.floats(0, 1e6), per_minute=st.integers(1, 10_000))
def test_whoever_waits_as_told_is_served(now: float, per_minute: int) -> None:
    buckets = TokenBuckets(per_minute=per_minute, burst=1)
    buckets.take("a", now=now)
    wait = buckets.take("a", now=now)
    assert wait > 0
    assert buckets.take("a", now=now + wait + 1e-6) == 0.0
