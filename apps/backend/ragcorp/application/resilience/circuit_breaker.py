"""A circuit breaker: skips a source for a while after several failures in a row, then probes it.

closed --failures in a row--> open --cooldown--> half open: one probe at a time --success--> closed
                                ^------------------failure of the probe----'
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ragcorp.domain.exceptions import ConfigurationError


class Admission(StrEnum):
    """Whether a source may be queried. While one query probes it, others are refused until ``settle``."""

    FREE = "free"
    PROBE = "probe"
    REFUSED = "refused"


class CircuitState(StrEnum):
    """``half_open``: the next query probes the source, or one is probing it."""

    CLOSED = "closed"
    HALF_OPEN = "half_open"
    OPEN = "open"


class Verdict(StrEnum):
    """Health of a source by its answer; ``nothing`` for a query that was cancelled or invalid."""

    WELL = "well"
    FAILED = "failed"
    NOTHING = "nothing"


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    probe_from: float | None = None
    """Set while the circuit is open: the moment from which it may be probed."""
    probing: bool = False


class CircuitBreaker:
    """One circuit per source; ``failures`` in a row (0: never) open it for ``cooldown_seconds``. Time is monotonic."""

    def __init__(self, *, failures: int = 5, cooldown_seconds: float = 5.0) -> None:
        if failures < 0:
            raise ConfigurationError.out_of_range(
                "CIRCUIT_BREAKER_FAILURES", "0 or more", remedy="Use 0 to query every source always."
            )
        if not cooldown_seconds > 0:
            raise ConfigurationError.out_of_range(
                "CIRCUIT_BREAKER_COOLDOWN_SECONDS", "above 0", remedy="Give a number of seconds."
            )
        self._failures = failures
        self._cooldown_seconds = cooldown_seconds
        self._circuits: dict[str, _Circuit] = {}

    def admit(self, sources: Iterable[str], *, now: float, replaceable: bool = False) -> dict[str, Admission]:
        """Admit sources, to be settled. Refuses all only if ``replaceable``: else nothing could answer."""
        admitted = {source: self._admission(source, now) for source in sources}
        refused = all(admission is Admission.REFUSED for admission in admitted.values())
        if admitted and refused and not replaceable:
            return dict.fromkeys(admitted, Admission.FREE)
        for source, admission in admitted.items():
            if admission is Admission.PROBE:
                self._circuits[source].probing = True
        return admitted

    def states(self, sources: Iterable[str], *, now: float) -> dict[str, CircuitState]:
        return {source: self._state(source, now) for source in sources}

    def settle(self, source: str, admission: Admission, verdict: Verdict, *, now: float) -> None:
        """Record the verdict on an admitted source. A well one closes the circuit, probe or not."""
        if admission is Admission.REFUSED or not self._failures:
            return
        circuit = self._circuits.setdefault(source, _Circuit())
        if admission is Admission.PROBE:
            circuit.probing = False
        if verdict is Verdict.WELL:
            del self._circuits[source]
        elif verdict is Verdict.FAILED:
            circuit.failures += 1
            # failures of queries that began before it opened do not extend the cooldown
            if circuit.failures >= self._failures and (circuit.probe_from is None or admission is Admission.PROBE):
                circuit.probe_from = now + self._cooldown_seconds

    def _state(self, source: str, now: float) -> CircuitState:
        circuit = self._circuits.get(source)
        if circuit is None or circuit.probe_from is None:
            return CircuitState.CLOSED
        return CircuitState.HALF_OPEN if circuit.probing or now >= circuit.probe_from else CircuitState.OPEN

    def _admission(self, source: str, now: float) -> Admission:
        circuit = self._circuits.get(source)
        if circuit is None or circuit.probe_from is None:
            return Admission.FREE
        if now < circuit.probe_from or circuit.probing:
            return Admission.REFUSED
        return Admission.PROBE
