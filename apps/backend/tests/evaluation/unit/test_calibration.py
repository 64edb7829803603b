"""The weights of linear fusion and the distance threshold from an embedding model's cosines."""

from __future__ import annotations

import math

import pytest

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.evaluation.calibration import calibrate, distance_threshold

EAST, NORTH, WEST, SOUTH = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)


def test_weights_worked_by_hand_where_the_mean_vanishes() -> None:
    # cosines of EAST: 1, 0, -1, 0 with deviation sqrt(1 / 2); of the diagonal: twice each of +- sqrt(1 / 2)
    diagonal = (math.sqrt(0.5), math.sqrt(0.5))
    result = calibrate([EAST, diagonal], [EAST, NORTH, WEST, SOUTH])
    assert result.deviation == pytest.approx(math.sqrt(0.5))
    assert result.evidence_weight == pytest.approx(4 * result.deviation)
    assert result.identifier_weight == pytest.approx(2 * result.deviation)
    assert (result.queries, result.passages) == (2, 4)


def test_cosines_are_half_centred() -> None:
    # half of the mean is (.25, .25): EAST becomes (.75, -.25) and NORTH (-.25, .75), both of length sqrt(.625)
    assert calibrate([EAST], [EAST, NORTH]).deviation == pytest.approx((1 + 0.375 / 0.625) / 2)
    # SOUTH becomes (-.25, -1.25): its products with them are .125 and -.875
    assert calibrate([SOUTH], [EAST, NORTH]).deviation == pytest.approx((0.125 + 0.875) / 2 / math.sqrt(0.625 * 1.625))


def test_passages_that_are_all_alike_leave_no_weight() -> None:
    assert calibrate([EAST], [NORTH, NORTH]).evidence_weight == 0.0


@pytest.mark.parametrize(("queries", "passages"), [([], [EAST, WEST]), ([EAST], [WEST])])
def test_too_little_is_refused(queries: list[tuple[float, ...]], passages: list[tuple[float, ...]]) -> None:
    with pytest.raises(InvalidInputError):
        calibrate(queries, passages)


def test_the_distance_threshold_keeps_99_of_100() -> None:
    # .001, .002, ... .100: the 99th is .099, and a threshold discards what equals it
    assert distance_threshold([n / 1000 for n in range(100, 0, -1)]) == 0.1
    # the 198th of 200
    assert distance_threshold([0.12] * 197 + [0.1234, 0.5, 0.6]) == 0.124


def test_a_distance_threshold_is_a_distance_that_can_be_stored() -> None:
    assert distance_threshold([0.0] * 100) == 0.001
    assert distance_threshold([2.0] * 100) == 2.0


def test_fewer_than_a_hundred_distances_tell_no_threshold() -> None:
    assert distance_threshold([0.1] * 99) is None
