"""The metrics of several processes as one."""

from __future__ import annotations

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ragcorp.interface.http.monitoring.merging import Snapshot, added_up, lasting, snapshot_of


def counted(requests: int, seconds: float, breaker: float, memory: float, streams: float) -> Snapshot:
    registry = CollectorRegistry()
    Counter("http_requests", "Requests.", ["route"], registry=registry).labels("/search").inc(requests)
    Histogram("seconds", "Time.", buckets=(1.0, 2.0), registry=registry).observe(seconds)
    Gauge("breaker_state", "Circuit.", ["source"], registry=registry).labels("dense").set(breaker)
    Gauge("process_resident_memory_bytes", "Memory.", registry=registry).set(memory)
    Gauge("open_streams", "Streams.", registry=registry).set(streams)
    snapshot: Snapshot = orjson.loads(orjson.dumps(snapshot_of(registry.collect())))
    return snapshot


def values(snapshots: dict[str, Snapshot]) -> dict[tuple[str, str], float]:
    """Return values by sample and by the values of its labels."""
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in added_up(snapshots)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_counts_and_gauges_are_added_the_worst_circuit_counts_and_each_process_is_shown() -> None:
    both = values({"1": counted(3, 0.5, 0, 100, 1), "2": counted(4, 1.5, 2, 200, 2)})
    assert both == {
        ("http_requests_total", "/search"): 7,
        ("seconds_bucket", "1.0"): 1,
        ("seconds_bucket", "2.0"): 2,
        ("seconds_bucket", "+Inf"): 2,
        ("seconds_count", ""): 2,
        ("seconds_sum", ""): 2.0,
        ("breaker_state", "dense"): 2,
        ("process_resident_memory_bytes", "1"): 100,
        ("process_resident_memory_bytes", "2"): 200,
        ("open_streams", ""): 3,
    }


def test_of_an_ended_process_its_counts_remain() -> None:
    left = lasting(counted(3, 0.5, 2, 100, 1))
    after = values({"ended": left, "1": counted(4, 1.5, 0, 200, 2)})
    assert after[("http_requests_total", "/search")] == 7
    assert after[("seconds_count", "")] == 2
    assert after[("breaker_state", "dense")] == 0
    assert after[("open_streams", "")] == 2
    assert ("process_resident_memory_bytes", "ended") not in after
