"""Prometheus metrics of one application, in a registry of its own."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ragcorp.application.limits.slot_limiter import SlotLimiter
from ragcorp.domain.embeddings import CacheName, CacheOutcome
from ragcorp.domain.files.values import GrepResult
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.domain.search.rollout import Arm, ShadowOutcome
from ragcorp.domain.structure.hydration import Channel, Hydration
from ragcorp.interface.http.monitoring.state_metrics import PoolCollector, ServiceState, StateCollector

MEDIA_TYPE = CONTENT_TYPE_LATEST
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
    """Counts requests by route template (never by path), sources by name, and what a roll-out does."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "http_requests", "Requests answered.", ("route", "method", "status"), registry=self._registry
        )
        self._request_seconds = Histogram(
            "http_request_seconds",
            "Time from the request's head to the end of its response.",
            ("route", "method"),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._refusals = Counter(
            "http_refusals",
            "Requests refused by who sends them or by how many there are.",
            ("reason",),
            registry=self._registry,
        )
        self._source_requests = Counter(
            "source_requests", "Queries put to a retrieval source.", ("source", "outcome"), registry=self._registry
        )
        self._source_seconds = Histogram(
            "source_seconds",
            "Time that a retrieval source took.",
            ("source",),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._cuts = Counter("source_cuts", "Queries that a budget cut short.", ("source",), registry=self._registry)
        self._degraded = Counter(
            "degraded", "Answers in which a source did not do its part.", ("source", "reason"), registry=self._registry
        )
        self._step_candidates = Counter(
            "search_step_candidates",
            "Candidates before and after each step of searches, and how many it removed.",
            ("step", "moment"),
            registry=self._registry,
        )
        self._step_skips = Counter(
            "search_step_skips", "Steps that did not run.", ("step", "reason"), registry=self._registry
        )
        self._greps = Counter(
            "grep_searches", "Searches in files by what became of them.", ("outcome",), registry=self._registry
        )
        self._unsearched = Counter(
            "grep_skipped_files", "Files that searches passed over.", ("reason",), registry=self._registry
        )
        self._arms = Counter(
            "search_arms",
            "Searches of mode auto by the arm that answered.",
            ("arm", "profile"),
            registry=self._registry,
        )
        self._shadows = Counter(
            "shadow_searches", "Shadow searches by what became of them.", ("outcome",), registry=self._registry
        )
        self._overlap = Histogram(
            "shadow_overlap_at_10",
            "Share of the first ten passages that the old and the new profile have in common.",
            buckets=OVERLAPS,
            registry=self._registry,
        )
        self._percent = Gauge(
            "hybrid_rollout_percent", "Share of mode auto that the new profile answers.", registry=self._registry
        )
        self._shadow = Gauge("hybrid_shadow", "1 where the new profile runs as a shadow.", registry=self._registry)
        self._cached = Counter(
            "embedding_cache_requests",
            "Vectors by cache and by how they came: memory, database, joined (a call that ran already) or miss.",
            ("cache", "outcome"),
            registry=self._registry,
        )
        for cache, outcome in CACHED:  # a rate needs its zero
            self._cached.labels(cache.value, outcome.value)
        self._hydrated = Counter(
            "hydrated_entities",
            "Entities that hydrations showed: anchors, or found by similarity or by words.",
            ("kind",),
            registry=self._registry,
        )
        for kind in HYDRATED:
            self._hydrated.labels(kind)
        self._dropped = Counter(
            "hydration_dropped", "Anchors that did not fit into a hydration's budget.", registry=self._registry
        )
        self._pending = Gauge(
            "pending_embeddings", "Chunks that wait for their vector (NaN: unknown).", registry=self._registry
        )
        self._failed = Gauge(
            "failed_embeddings", "Chunks whose vector was given up (NaN: unknown).", registry=self._registry
        )
        self._streams = Gauge("open_streams", "Responses that are being streamed.", registry=self._registry)
        self._tokens = Counter("llm_tokens", "Tokens of language models.", ("kind",), registry=self._registry)
        for kind in TOKENS:
            self._tokens.labels(kind)
        self._pool = PoolCollector()
        self._registry.register(self._pool)

    def count_request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        method = method if method in METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        self._request_seconds.labels(route, method).observe(seconds)

    def stream_opened(self) -> None:
        self._streams.inc()

    def stream_closed(self) -> None:
        self._streams.dec()

    def tokens_used(self, *, prompt: int, completion: int) -> None:
        for kind, count in zip(TOKENS, (prompt, completion), strict=True):
            self._tokens.labels(kind).inc(count)

    def watch(self, state: ServiceState, *, admission: SlotLimiter) -> None:
        """Show, from now on, what the service says of itself whenever the metrics are asked for."""
        self._registry.register(StateCollector(state, admission))

    def count_refusal(self, reason: str) -> None:
        self._refusals.labels(reason).inc()

    def count_search(self, response: SearchResponse) -> None:
        self._count_sources(response.reports)
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
        skipped = result.skipped
        for reason, files in (
            ("binary", skipped.binary),
            ("too_large", skipped.too_large),
            ("refused", skipped.refused),
        ):
            self._unsearched.labels(reason).inc(files)

    def _count_sources(self, reports: Iterable[SourceReport]) -> None:
        for report in reports:
            self._source_requests.labels(report.source, report.outcome.value).inc()
            self._source_seconds.labels(report.source).observe(report.elapsed_ms / 1000)
            if report.cut:
                self._cuts.labels(report.source).inc()
            if report.reason is not None:
                self._degraded.labels(report.source, reason_label(report.reason)).inc()

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

    def exposition(self, *, backlog: tuple[int, int] | None, pool: Mapping[str, int]) -> bytes:
        """Return all metrics as text. ``backlog`` is (pending, failed), None where it is unknown."""
        pending, failed = backlog or (math.nan, math.nan)
        self._pending.set(pending)
        self._failed.set(failed)
        self._pool.read(pool)
        return generate_latest(self._registry)


def reason_label(reason: str) -> str:
    """Return a reason as a label: its first word, without the fields that it names; what is no word is ``other``."""
    word = reason.partition(":")[0]
    return word if _WORD.fullmatch(word) else "other"
