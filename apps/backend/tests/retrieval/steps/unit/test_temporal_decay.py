"""Temporal decay, by hand-worked numbers."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest

from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.candidates import Candidate
from support.retrieval.candidates import NOW, candidate, names, scores

TABLE = [(0, 1.0, 1.0), (3, 0.933, 0.933), (30, 0.5, 0.5), (45, 0.354, 0.354), (60, 0.25, 0.3), (120, 0.0625, 0.3)]
"""Age in days, the factor, and the factor of what is evergreen."""


def decayed(*given: Candidate, **parameters: float) -> tuple[Candidate, ...]:
    return TemporalDecay(**parameters).apply(given, now=NOW).candidates  # type: ignore[arg-type]


@pytest.mark.parametrize(("age_days", "factor", "evergreen"), TABLE)
def test_factors_of_the_context_engine(age_days: float, factor: float, evergreen: float) -> None:
    (faded,) = decayed(candidate("a", 1.0, age_days=age_days, kind="turn"))
    assert faded.score == pytest.approx(factor, abs=5e-4)
    for kind in ("person", "place", "relationship"):
        (kept,) = decayed(candidate("a", 1.0, age_days=age_days, kind=kind))
        assert kept.score == pytest.approx(evergreen, abs=5e-4)


@pytest.mark.parametrize("kind", ["fact", "preference", "document", "turn", "Person", ""])
def test_other_kinds_have_no_floor(kind: str) -> None:
    (faded,) = decayed(candidate("a", 1.0, age_days=3000, kind=kind))
    assert faded.score == pytest.approx(2.0**-100)


def test_what_does_not_age_and_what_lies_ahead_keep_their_score() -> None:
    kept = decayed(candidate("ahead", 0.5, age_days=-7), candidate("timeless", 0.4))
    assert scores(kept) == [0.5, 0.4]
    assert [item.notes["temporal_decay"]["age_days"] for item in kept] == [0.0, None]


def test_age_is_counted_across_time_zones_and_parts_of_days() -> None:
    moment = datetime.fromisoformat("2026-02-28T19:00:00-05:00")
    (faded,) = decayed(candidate("a", 1.0, ages_from=moment))
    assert faded.notes["temporal_decay"]["age_days"] == 0.5
    assert faded.score == 2 ** (-0.5 / 30)


def test_the_fresh_overtake_the_old_and_equal_scores_go_by_key() -> None:
    kept = decayed(candidate("old", 0.9, age_days=60), candidate("b", 0.3, age_days=0), candidate("a", 0.3, age_days=0))
    assert names(kept) == ["a", "b", "old"]


def test_a_score_below_zero_does_not_rise_with_age() -> None:
    kept = decayed(candidate("old", -0.5, age_days=300), candidate("new", -0.4, age_days=0))
    assert [(item.key[0], item.score) for item in kept] == [("new", -0.4), ("old", -0.5)]


def test_half_life_and_floor_are_parameters_and_stand_in_the_report() -> None:
    given = [candidate("a", 0.8, age_days=7, kind="place"), candidate("b", 0.8, age_days=14, kind="place")]
    outcome = TemporalDecay(half_life_days=7, evergreen_floor=0.4).apply(given, now=NOW)
    assert scores(outcome.candidates) == pytest.approx([0.4, 0.32])
    assert outcome.candidates[1].notes["temporal_decay"] == {
        "age_days": 14.0,
        "factor": 0.4,
        "floor": 0.4,
        "fused": 0.8,
    }
    report = outcome.report
    assert (report.step, report.before, report.after, report.removed) == ("temporal_decay", 2, 2, 0)
    assert report.formula == "score * max(floor, 2^(-age_days / half_life_days))"
    assert report.parameters == {
        "half_life_days": 7,
        "evergreen_floor": 0.4,
        "evergreen_kinds": ["person", "place", "relationship"],
    }


def test_ages_beyond_any_calendar_underflow_to_nothing() -> None:
    (faded,) = decayed(candidate("a", 1.0, age_days=700_000), half_life_days=1e-300)
    assert faded.score == 0.0


def test_nothing_comes_of_nothing() -> None:
    assert decayed() == ()


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"half_life_days": 0}, "half_life_days"),
        ({"half_life_days": -1}, "half_life_days"),
        ({"half_life_days": math.inf}, "half_life_days"),
        ({"half_life_days": math.nan}, "half_life_days"),
        ({"evergreen_floor": -0.01}, "evergreen_floor"),
        ({"evergreen_floor": 1.01}, "evergreen_floor"),
        ({"evergreen_floor": math.nan}, "evergreen_floor"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        TemporalDecay(**parameters)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidInputError) as refused:
        TemporalDecay().apply([], now=NOW.replace(tzinfo=None) + timedelta())
    assert refused.value.field == "now"
