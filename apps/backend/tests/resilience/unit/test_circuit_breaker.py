"""The circuit breaker, on a clock of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.resilience.circuit_breaker import Admission, CircuitBreaker, Verdict
from ragcorp.domain.exceptions import ConfigurationError

FREE, PROBE, REFUSED = Admission.FREE, Admission.PROBE, Admission.REFUSED
WELL, FAILED, NOTHING = Verdict.WELL, Verdict.FAILED, Verdict.NOTHING


class Circuit:
    """The circuit of source "a" beside one, "z", that is always well: so "a" is never the last that is left."""

    def __init__(self, *, failures: int = 3, cooldown_seconds: float = 10.0) -> None:
        self.breaker = CircuitBreaker(failures=failures, cooldown_seconds=cooldown_seconds)

    def admit(self, now: float = 0.0) -> Admission:
        admitted = self.breaker.admit(["a", "z"], now=now)
        assert admitted["z"] is FREE
        return admitted["a"]

    def settle(self, admission: Admission, verdict: Verdict, now: float = 0.0) -> None:
        self.breaker.settle("a", admission, verdict, now=now)

    def fail(self, times: int, now: float = 0.0) -> None:
        for _ in range(times):
            self.settle(self.admit(now), FAILED, now)


def test_it_opens_after_so_many_failures_in_a_row_and_not_before() -> None:
    circuit = Circuit()
    circuit.fail(2)
    assert circuit.admit() is FREE
    circuit.fail(1)
    assert circuit.admit() is REFUSED


def test_a_success_between_starts_the_count_anew_and_what_says_nothing_does_not() -> None:
    circuit = Circuit()
    circuit.fail(2)
    circuit.settle(circuit.admit(), WELL)
    circuit.fail(2)
    circuit.settle(circuit.admit(), NOTHING)
    assert circuit.admit() is FREE
    circuit.fail(1)
    assert circuit.admit() is REFUSED


def test_after_the_cooldown_one_at_a_time_probes() -> None:
    circuit = Circuit()
    circuit.fail(3, now=100.0)
    assert circuit.admit(now=109.9) is REFUSED
    assert circuit.admit(now=110.0) is PROBE
    assert circuit.admit(now=110.0) is REFUSED
    assert circuit.admit(now=500.0) is REFUSED


def test_a_probe_that_succeeds_closes_and_one_that_fails_opens_for_another_cooldown() -> None:
    circuit = Circuit()
    circuit.fail(3)
    circuit.settle(circuit.admit(now=10.0), FAILED, now=12.0)
    assert circuit.admit(now=21.9) is REFUSED
    assert circuit.admit(now=22.0) is PROBE
    circuit.settle(PROBE, WELL, now=22.5)
    circuit.fail(2, now=23.0)
    assert circuit.admit(now=23.0) is FREE


def test_a_probe_that_is_cancelled_frees_the_slot() -> None:
    circuit = Circuit()
    circuit.fail(3)
    circuit.settle(circuit.admit(now=10.0), NOTHING, now=10.1)
    assert circuit.admit(now=10.1) is PROBE


def test_failures_of_those_that_were_asked_before_lengthen_no_cooldown_and_free_no_probe() -> None:
    circuit = Circuit()
    circuit.fail(3)
    circuit.settle(FREE, FAILED, now=9.0)
    assert circuit.admit(now=10.0) is PROBE
    circuit.settle(FREE, FAILED, now=10.5)
    assert circuit.admit(now=30.0) is REFUSED


def test_a_late_success_closes_too() -> None:
    circuit = Circuit()
    circuit.fail(3)
    circuit.settle(FREE, WELL, now=1.0)
    assert circuit.admit(now=1.0) is FREE


def test_where_all_would_be_refused_all_are_asked() -> None:
    breaker = CircuitBreaker(failures=1, cooldown_seconds=10.0)
    for source in ("a", "b"):
        breaker.settle(source, FREE, FAILED, now=0.0)
    assert breaker.admit(["a", "b"], now=1.0) == {"a": FREE, "b": FREE}
    assert breaker.admit(["a", "b", "c"], now=1.0) == {"a": REFUSED, "b": REFUSED, "c": FREE}
    assert breaker.admit(["b"], now=1.0) == {"b": FREE}
    assert breaker.admit([], now=1.0) == {}
    breaker.settle("a", FREE, WELL, now=1.5)
    assert breaker.admit(["a", "b"], now=1.5) == {"a": FREE, "b": REFUSED}


def test_zero_failures_turns_it_off() -> None:
    circuit = Circuit(failures=0)
    circuit.fail(100)
    assert circuit.admit() is FREE


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"failures": -1}, "CIRCUIT_BREAKER_FAILURES"),
        ({"cooldown_seconds": 0}, "CIRCUIT_BREAKER_COOLDOWN_SECONDS"),
        ({"cooldown_seconds": float("nan")}, "CIRCUIT_BREAKER_COOLDOWN_SECONDS"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], field: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        CircuitBreaker(**parameters)  # type: ignore[arg-type]
    assert refused.value.field == field


@given(
    st.lists(st.tuples(st.sampled_from(["admit", "settle"]), st.sampled_from(Verdict), st.floats(0, 8)), max_size=60)
)
def test_whatever_happens_at_most_one_probes_and_the_refused_wait_no_longer_than_a_cooldown(
    steps: list[tuple[str, Verdict, float]],
) -> None:
    circuit = Circuit(failures=2)
    under_way: list[Admission] = []
    now = 0.0
    for action, verdict, passed in steps:
        now += passed
        if action == "admit":
            admission = circuit.admit(now)
            if admission is not REFUSED:
                under_way.append(admission)
        elif under_way:
            circuit.settle(under_way.pop(0), verdict, now)
        assert under_way.count(PROBE) <= 1
    for admission in under_way:
        circuit.settle(admission, NOTHING, now)
    assert circuit.admit(now + 10.0) in (FREE, PROBE)
