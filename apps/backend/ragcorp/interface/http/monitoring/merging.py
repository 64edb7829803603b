"""Adds up the metrics of several processes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import Metric
from prometheus_client.registry import Collector

BREAKER_STATE = "breaker_state"

Labels = tuple[tuple[str, str], ...]
Snapshot = Sequence[Sequence[Any]]
"""Families as JSON can carry them: name, meaning, type and samples of name, labels and value."""

CREATED = "_created"
OF_A_PROCESS = "process_"
"""Families that describe a process: their samples are not added, but labelled with the ``worker``."""


class Families(Collector):
    """Families that are collected already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


def snapshot_of(families: Iterable[Metric]) -> Snapshot:
    return [
        (
            family.name,
            family.documentation,
            family.type,
            [(sample.name, sample.labels, sample.value) for sample in family.samples],
        )
        for family in families
    ]


def added_up(snapshots: Mapping[str, Snapshot]) -> list[Metric]:
    """Return one family for those of each name.

    Equal samples are added; of ``breaker_state`` the worst counts, of moments of creation the first. ``process_...``
    get the name of their snapshot as the label ``worker``.
    """
    families: dict[str, Metric] = {}
    values: dict[str, dict[tuple[str, Labels], float]] = {}
    for worker, snapshot in snapshots.items():
        for family, meaning, kind, samples in snapshot:
            families.setdefault(family, Metric(family, meaning, kind))
            merged = values.setdefault(family, {})
            for sample, labels, value in samples:
                own = {**labels, "worker": worker} if family.startswith(OF_A_PROCESS) else labels
                key = (sample, tuple(sorted(own.items())))
                merged[key] = _merge_of(family, sample)((merged[key], value)) if key in merged else value
    for name, family_values in values.items():
        for (sample, labels), value in family_values.items():
            families[name].add_sample(sample, dict(labels), value)
    return list(families.values())


def _merge_of(family: str, sample: str) -> Callable[[tuple[float, float]], float]:
    if family == BREAKER_STATE:
        return max
    return min if sample.endswith(CREATED) else sum


def lasting(snapshot: Snapshot) -> Snapshot:
    """Return what remains of an ended process: its counters and histograms, so that the sums never decrease."""
    return [
        family
        for family in snapshot
        if family[2] in ("counter", "histogram") and not family[0].startswith(OF_A_PROCESS)
    ]
