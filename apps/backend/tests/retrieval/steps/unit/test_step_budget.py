"""The CPU that the pure steps may cost: three times the budget, so that a busy machine is no failure."""

from __future__ import annotations

import pytest

from benchmarks.pipeline_steps import BUDGET_MS, make_case, timed


@pytest.mark.parametrize(("size", "budget_ms"), BUDGET_MS.items())
def test_fusion_to_diversification_stays_far_below_a_round_trip(size: int, budget_ms: float) -> None:
    case = make_case(size, seed=7)
    best = min(timed(case, case.lexemes)["all steps"] for _ in range(15))
    assert best < 3 * budget_ms
