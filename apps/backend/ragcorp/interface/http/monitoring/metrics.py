"""Prometheus metrics of one application, in a separate registry; some are read at scrape time."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from ragcorp.application.limits.slot_limiter import Slots
from ragcorp.domain.embeddings import CacheName, CacheOutcome
from ragcorp.domain.files.values import GrepResult
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.domain.search.rollout import Arm, ShadowOutcome
from ragcorp.domain.structure.hydration import Channel, Hydration
from ragcorp.interface.http.monitoring.merging import BREAKER_STATE, Families, Snapshot, added_up, snapshot_of

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
    """Reads the state of this process at each scrape: circuits, admission and lost log lines."""

    def __init__(self, state: ServiceState, admission: Slots | None) -> None:
        self._state = state
        self._admission = admission

    def describe(self) -> Iterator[Metric]:
        """Read nothing at registration."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        breakers = GaugeMetricFamily(
            BREAKER_STATE, "Circuit of a source: 0 closed, 1 half open, 2 open.", labels=("source",)
        )
        for source, state in sorted(self._state.breakers().items()):
            breakers.add_metric((source,), BREAKER_STATES[state])
        yield breakers
        if self._admission is not None:
            admission = GaugeMetricFamily("admission_requests", "Requests that work, or wait to.", labels=("state",))
            admission.add_metric(("working",), self._admission.taken)
            admission.add_metric(("waiting",), self._admission.waiting)
            yield admission
        yield CounterMetricFamily(
            "log_lines_dropped", "Log lines that found no room, or no sink.", value=self._state.dropped_lines()
        )


class CommonCollector(Collector):
    """Reads at each scrape what is the same in every process of a service: the build and the database's schema."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state

    def describe(self) -> Iterator[Metric]:
        """Read nothing at registration."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
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


ANCHOR = "anchor"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)
CACHED = (
    *((CacheName.QUERY, outcome) for outcome in CacheOutcome if outcome is not CacheOutcome.DATABASE),
    *((CacheName.PASSAGE, outcome) for outcome in CacheOutcome),
)
HYDRATED = (ANCHOR, *(channel.value for channel in Channel))
TOKENS = ("prompt", "completion")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,39}")
OVERLAPS = tuple(tenths / 10 for tenths in range(11))


class HttpMetrics:
    """Counts requests by route template (never by path), searches by source, and what a roll-out does."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._common = common = CollectorRegistry()
        ProcessCollector(registry=registry)

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(name, meaning, labels, registry=registry)

        def histogram(name: str, meaning: str, *labels: str, buckets: Sequence[float] = BUCKETS) -> Histogram:
            return Histogram(name, meaning, labels, buckets=buckets, registry=registry)

        def gauge(name: str, meaning: str, *, registry: CollectorRegistry = registry) -> Gauge:
            return Gauge(name, meaning, registry=registry)

        self._requests = counter("http_requests", "Requests answered.", "route", "method", "status")
        self._request_seconds = histogram(
            "http_request_seconds", "Time from the request's head to the end of its response.", "route", "method"
        )
        self._refusals = counter(
            "http_refusals", "Requests refused by who sends them or by how many there are.", "reason"
        )
        self._source_requests = counter("source_requests", "Queries put to a retrieval source.", "source", "outcome")
        self._source_seconds = histogram("source_seconds", "Time that a retrieval source took.", "source")
        self._cuts = counter("source_cuts", "Queries that a budget cut short.", "source")
        self._degraded = counter("degraded", "Answers in which a source did not do its part.", "source", "reason")
        self._step_candidates = counter(
            "search_step_candidates",
            "Candidates before and after each step of searches, and how many it removed.",
            "step",
            "moment",
        )
        self._step_skips = counter("search_step_skips", "Steps that did not run.", "step", "reason")
        self._greps = counter("grep_searches", "Searches in files by what became of them.", "outcome")
        self._unsearched = counter("grep_skipped_files", "Files that searches passed over.", "reason")
        self._arms = counter("search_arms", "Searches of mode auto by the arm that answered.", "arm", "profile")
        self._shadows = counter("shadow_searches", "Shadow searches by what became of them.", "outcome")
        self._overlap = histogram(
            "shadow_overlap_at_10",
            "Share of the first ten passages that the old and the new profile have in common.",
            buckets=OVERLAPS,
        )
        self._percent = gauge(
            "hybrid_rollout_percent", "Share of mode auto that the new profile answers.", registry=common
        )
        self._shadow = gauge("hybrid_shadow", "1 where the new profile runs as a shadow.", registry=common)
        self._cached = counter(
            "embedding_cache_requests",
            "Vectors by cache and by how they came: memory, database, joined (a call that ran already) or miss.",
            "cache",
            "outcome",
        )
        self._hydrated = counter(
            "hydrated_entities", "Entities that hydrations showed: anchors, or found by similarity or by words.", "kind"
        )
        self._dropped = counter("hydration_dropped", "Anchors that did not fit into a hydration's budget.")
        self._pending = gauge(
            "pending_embeddings", "Chunks that wait for their vector (NaN: unknown).", registry=common
        )
        self._failed = gauge("failed_embeddings", "Chunks whose vector was given up (NaN: unknown).", registry=common)
        self.open_streams = gauge("open_streams", "Responses that are being streamed.")
        self._tokens = counter("llm_tokens", "Tokens of language models.", "kind")
        # a rate needs its zero
        for cache, outcome in CACHED:
            self._cached.labels(cache.value, outcome.value)
        for kind in HYDRATED:
            self._hydrated.labels(kind)
        for kind in TOKENS:
            self._tokens.labels(kind)
        self._pool = PoolCollector()
        registry.register(self._pool)

    def count_request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        method = method if method in METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        self._request_seconds.labels(route, method).observe(seconds)

    def tokens_used(self, *, prompt: int, completion: int) -> None:
        for kind, count in zip(TOKENS, (prompt, completion), strict=True):
            self._tokens.labels(kind).inc(count)

    def watch(self, state: ServiceState, *, admission: Slots | None = None) -> None:
        """Read ``state`` and ``admission`` at each scrape from now on; None where no requests are answered."""
        self._registry.register(StateCollector(state, admission))
        self._common.register(CommonCollector(state))

    def count_refusal(self, reason: str) -> None:
        self._refusals.labels(reason).inc()

    def count_search(self, response: SearchResponse) -> None:
        for report in response.reports:
            self._source_requests.labels(report.source, report.outcome.value).inc()
            self._source_seconds.labels(report.source).observe(report.elapsed_ms / 1000)
            if report.cut:
                self._cuts.labels(report.source).inc()
            if report.reason is not None:
                self._degraded.labels(report.source, reason_label(report.reason)).inc()
        if response.hydration is not None:
            self.count_hydration(response.hydration)
        for step in response.steps:
            for moment, candidates in (("before", step.before), ("after", step.after), ("removed", step.removed)):
                self._step_candidates.labels(step.step, moment).inc(candidates)
            if step.skipped is not None:
                self._step_skips.labels(step.step, reason_label(step.skipped)).inc()

    def count_hydration(self, hydration: Hydration) -> None:
        for entity in hydration.entities:
            self._hydrated.labels(entity.planned.reasons[0].partition(":")[0]).inc()
        self._dropped.inc(len(hydration.dropped))

    def vectors_served(self, cache: CacheName, outcome: CacheOutcome, *, count: int = 1) -> None:
        self._cached.labels(cache.value, outcome.value).inc(count)

    def count_grep(self, result: GrepResult) -> None:
        ended = "timed_out" if result.timed_out else "cut" if result.cut else "ok" if result.passages else "empty"
        ended = "root_unavailable" if result.unavailable else ended
        self._greps.labels(ended).inc()
        for reason in ("binary", "too_large", "refused"):
            self._unsearched.labels(reason).inc(getattr(result.skipped, reason))

    def rollout_set(self, *, percent: float, shadow: bool) -> None:
        self._percent.set(percent)
        self._shadow.set(shadow)
        for outcome in ShadowOutcome:  # a rate needs its zero
            self._shadows.labels(outcome.value)

    def arm_served(self, arm: Arm, *, profile: str) -> None:
        self._arms.labels(arm.value, profile).inc()

    def shadow_ended(self, outcome: ShadowOutcome, *, overlap: float | None) -> None:
        self._shadows.labels(outcome.value).inc()
        if overlap is not None:
            self._overlap.observe(overlap)

    def snapshot(self, *, pool: Mapping[str, int]) -> Snapshot:
        """Return what this process has counted."""
        self._pool.read(pool)
        return snapshot_of(self._registry.collect())

    def exposition(
        self,
        *,
        backlog: tuple[int, int] | None,
        pool: Mapping[str, int],
        snapshots: Mapping[str, Snapshot] | None = None,
    ) -> bytes:
        """Return all metrics as text: those of this process, or of several by name.

        ``backlog`` is (pending, failed), None if unknown.
        """
        pending, failed = backlog or (math.nan, math.nan)
        self._pending.set(pending)
        self._failed.set(failed)
        self._pool.read(pool)
        counted = self._registry if snapshots is None else Families(added_up(snapshots))
        return generate_latest(counted) + generate_latest(self._common)


def reason_label(reason: str) -> str:
    """Return the first word of a reason as a label, without its fields; ``other`` if it is no word."""
    word = reason.partition(":")[0]
    return word if _WORD.fullmatch(word) else "other"
