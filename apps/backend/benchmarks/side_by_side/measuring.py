"""Measures variants in one interleaved run."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus
from benchmarks.measure import percentile
from benchmarks.side_by_side.processes import Process, ServerCpu, libraries_python, started
from benchmarks.side_by_side.variant import CLIENTS, HTTP, KINDS

Filters = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A search as a variant does it, and the server that it asks."""

    process: Process
    server: ServerCpu
    filters: Filters = field(default_factory=dict)


@dataclass(slots=True)
class Measured:
    """What each search took, and the searches a second of each measurement under load."""

    wall_ms: list[float] = field(default_factory=list)
    client_ms: list[float] = field(default_factory=list)
    server_ms: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)
    results: dict[int, list[int]] = field(default_factory=dict)

    @property
    def p50(self) -> float:
        return percentile(self.wall_ms, 50)

    @property
    def client_cpu(self) -> float:
        return statistics.mean(self.client_ms)

    @property
    def server_cpu(self) -> float:
        return statistics.mean(self.server_ms)

    @property
    def throughput(self) -> float:
        return statistics.median(self.per_second)

    def agreement(self, base: Measured) -> float:
        """Return the share of the base's results that are also among these."""
        shares = [len(set(self.results[number]) & set(ids)) / len(ids) for number, ids in base.results.items() if ids]
        return statistics.mean(shares)


def interleave(calls: Mapping[str, Call], *, queries: int, rounds: int) -> dict[str, Measured]:
    """Make every call with each query ``rounds`` times, one right after another and each first in its turn.

    A first pass is not counted: it fills caches and prepares statements.
    """
    measured = {name: Measured() for name in calls}
    names = list(calls)
    for turn in range(rounds + 1):
        for number in range(queries):
            shift = (number + turn) % len(names)
            for name in names[shift:] + names[:shift]:
                call, result = calls[name], measured[name]
                before = call.server.milliseconds()
                reply = call.process.request(number=number, filters=dict(call.filters))
                if turn:
                    result.wall_ms.append(reply["wall_ms"])
                    result.client_ms.append(reply["cpu_ms"])
                    result.server_ms.append(call.server.milliseconds() - before)
                result.results[number] = reply["ids"]
    return measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The measurements of ``KINDS`` by name, and why the others are missing."""

    measured: Mapping[str, Measured]
    missing: Mapping[str, str]

    def rows(self) -> list[dict[str, object]]:
        return [self._row(name) for name in KINDS]

    def _row(self, name: str) -> dict[str, object]:
        if name in self.missing:
            return {"variant": f"{name}: not installed ({self.missing[name]})"}
        result, base = self.measured[name], self.measured[KINDS[name].base]
        return {
            "variant": name,
            "p50 ms": round(result.p50, 2),
            "ratio": round(result.p50 / base.p50, 2),
            "client CPU ms": round(result.client_cpu, 2),
            "server CPU ms": round(result.server_cpu, 2),
            "both": round(result.client_cpu + result.server_cpu, 2),
            f"searches/s, {CLIENTS} clients": round(result.throughput, 1),
            "of the statement's results": round(result.agreement(base), 3),
        }


def compare(
    dsn: str,
    admin_dsn: str,
    corpus: Corpus,
    *,
    libraries: Path,
    queries: int,
    rounds: int,
    seconds: float,
    filtered: Mapping[str, tuple[str, Filters]] | None = None,
) -> Comparison:
    """Interleave all ``KINDS``, then put each under load in turn, three times for ``seconds``.

    ``filtered`` are further calls: a name, the variant that answers, and its filters.
    """
    asked, server = corpus.queries(queries), ServerCpu(dsn)
    missing: dict[str, str] = {}
    processes: dict[str, Process] = {}
    other_python = libraries_python(libraries)
    with ExitStack() as stack:
        for name, kind in KINDS.items():
            python = other_python if kind.foreign else sys.executable
            options: dict[str, Any] = dict(kind.options)
            if name == HTTP:
                options |= {"chunks": corpus.chunks, "seed": corpus.seed}
            process = stack.enter_context(
                started(kind, python=python, dsn=admin_dsn if kind.foreign else dsn, queries=asked, options=options)
            )
            if process.missing:
                missing[name] = process.missing
            else:
                processes[name] = process
        calls = {name: Call(process=process, server=server) for name, process in processes.items()}
        for name, (variant, filters) in (filtered or {}).items():
            calls[name] = Call(process=processes[variant], server=server, filters=filters)
        measured = interleave(calls, queries=queries, rounds=rounds)
        for _ in range(3):
            for name, process in processes.items():
                measured[name].per_second.append(process.request(seconds=seconds)["per_second"])
    return Comparison(measured=measured, missing=missing)
