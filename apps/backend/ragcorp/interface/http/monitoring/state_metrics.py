"""Metrics read at scrape time: pool, circuits, admission, log, build."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from ragcorp.application.limits.slot_limiter import SlotLimiter

POOL_GAUGES = ("pool_min", "pool_max", "pool_size", "pool_available", "requests_waiting")

POOL_COUNTERS = {
    "requests_num": ("database_pool_requests", "Connections asked of the pool.", 1),
    "requests_queued": ("database_pool_requests_queued", "Those that had to wait.", 1),
    "requests_wait_ms": ("database_pool_wait_seconds", "Time that they waited.", 1000),
    "requests_errors": ("database_pool_request_errors", "Those that got none in time.", 1),
    "usage_ms": ("database_pool_usage_seconds", "Time that connections were lent.", 1000),
    "connections_num": ("database_pool_connections", "Attempts to connect.", 1),
    "connections_errors": ("database_pool_connection_errors", "Attempts that failed.", 1),
    "connections_lost": ("database_pool_connections_lost", "Connections found lost.", 1),
    "returns_bad": ("database_pool_returns_bad", "Connections that came back unusable.", 1),
}
"""By psycopg_pool's name: the metric's name, its meaning, and the pool's units in one of the metric's."""

BREAKER_STATES = {"closed": 0, "half_open": 1, "open": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """State of the service at the moment of a call; no call waits.

    ``breakers`` returns states by source (closed, half_open, open), ``build`` the labels of build_info, ``schema``
    whether the last readiness check passed and the schema's revision (None before the first check).
    """

    breakers: Callable[[], Mapping[str, str]] = dict
    dropped_lines: Callable[[], int] = int
    build: Callable[[], Mapping[str, str]] = dict
    schema: Callable[[], tuple[bool, str] | None] = lambda: None


class PoolCollector(Collector):
    """Types the pool's statistics: psycopg_pool mixes counters and gauges."""

    def __init__(self) -> None:
        self._statistics: Mapping[str, int] = {}

    def read(self, statistics: Mapping[str, int]) -> None:
        self._statistics = statistics

    def collect(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily("database_pool", "The connection pool at this moment.", labels=("statistic",))
        for name in POOL_GAUGES:
            if name in self._statistics:
                gauge.add_metric((name,), self._statistics[name])
        yield gauge
        for name, (ours, counted, units) in POOL_COUNTERS.items():
            yield CounterMetricFamily(ours, counted, value=self._statistics.get(name, 0) / units)


class StateCollector(Collector):
    """Reads ServiceState and the admission at each scrape."""

    def __init__(self, state: ServiceState, admission: SlotLimiter) -> None:
        self._state = state
        self._admission = admission

    def describe(self) -> Iterator[Metric]:
        """Read nothing at registration."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        breakers = GaugeMetricFamily(
            "breaker_state", "Circuit of a source: 0 closed, 1 half open, 2 open.", labels=("source",)
        )
        for source, state in sorted(self._state.breakers().items()):
            breakers.add_metric((source,), BREAKER_STATES[state])
        yield breakers
        admission = GaugeMetricFamily("admission_requests", "Requests that work, or wait to.", labels=("state",))
        admission.add_metric(("working",), self._admission.taken)
        admission.add_metric(("waiting",), self._admission.waiting)
        yield admission
        yield CounterMetricFamily(
            "log_lines_dropped", "Log lines that found no room, or no sink.", value=self._state.dropped_lines()
        )
        yield _info("build_info", "What runs.", self._state.build())
        schema = self._state.schema()
        if schema is not None:
            ready, revision = schema
            yield GaugeMetricFamily("ready", "1 where the last look found the service ready.", value=int(ready))
            yield _info("schema_info", "The database's schema as it was last seen.", {"revision": revision})


def _info(name: str, meaning: str, labels: Mapping[str, str]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=tuple(labels))
    family.add_metric(tuple(labels.values()), 1)
    return family
