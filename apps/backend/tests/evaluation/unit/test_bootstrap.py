"""Paired bootstrap: what is known of it without trusting it."""

from __future__ import annotations

import math
import random
from statistics import fmean, pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcorp.evaluation.bootstrap import Resampling, difference, estimate, interval, quantile

FEW = Resampling(resamples=200, seed=3)
values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_quantiles_worked_by_hand() -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.95) == pytest.approx(3.85)
    assert (quantile([7.0], 0.0), quantile([7.0], 1.0)) == (7.0, 7.0)
    assert interval([float(number) for number in range(101)]) == (pytest.approx(2.5), pytest.approx(97.5))


@settings(deadline=None)
@given(values)
def test_the_same_seed_gives_the_same_draws_to_the_last_bit(column: list[float]) -> None:
    assert FEW.means([column]) == FEW.means([column])
    assert FEW.means([column, column])[0] == FEW.means([column, column])[1]


def test_another_seed_gives_other_draws() -> None:
    column = [float(number) for number in range(10)]
    assert FEW.means([column]) != Resampling(resamples=200, seed=4).means([column])


@settings(deadline=None)
@given(values)
def test_resampled_means_stay_between_the_extremes(column: list[float]) -> None:
    (means,) = FEW.means([column])
    assert len(means) == 200
    assert min(column) - 1e-12 <= min(means) <= max(means) <= max(column) + 1e-12


def test_the_interval_is_as_wide_as_theory_says() -> None:
    """For many values the bootstrap's deviation of a mean is that of the values over the root of their number."""
    chance = random.Random(5)
    column = [chance.random() for _ in range(400)]
    (means,) = Resampling(resamples=3000, seed=1).means([column])
    result = estimate(column, means)
    expected = 1.96 * pstdev(column) / math.sqrt(400)
    assert result.value == pytest.approx(fmean(column))
    assert (result.high - result.low) / 2 == pytest.approx(expected, rel=0.08)
    assert result.low < result.value < result.high


def test_a_paired_difference_sees_what_two_intervals_hide() -> None:
    chance = random.Random(6)
    before = [chance.random() for _ in range(60)]
    after = [value + 0.02 for value in before]
    result = difference(before, after, FEW)
    assert (result.value, result.low, result.high) == (pytest.approx(0.02), pytest.approx(0.02), pytest.approx(0.02))
    assert result.p == 0.0


def test_no_difference_is_no_evidence() -> None:
    result = difference([0.1, 0.9, 0.4], [0.1, 0.9, 0.4], FEW)
    assert (result.value, result.low, result.high, result.p) == (0.0, 0.0, 0.0, 1.0)


def test_the_direction_is_from_a_to_b() -> None:
    better, worse = [0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.1, 0.2]
    up, down = difference(worse, better, FEW), difference(better, worse, FEW)
    assert up.value == pytest.approx(-down.value)
    assert up.low == pytest.approx(-down.high)
    assert up.low > 0 > down.high


def test_unpaired_columns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        difference([0.1], [0.1, 0.2], FEW)
