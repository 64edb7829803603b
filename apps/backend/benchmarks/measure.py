"""Times variants against one another in one interleaved run, and says on which machine."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import psutil
import psycopg
from psycopg.rows import TupleRow

Item = TypeVar("Item")
Variant = Callable[[Item], Awaitable[object]]


@dataclass(slots=True)
class Timing:
    """Wall clock and client CPU of each call, in milliseconds."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        return {
            "p50_ms": round(percentile(self.wall, 50), 3),
            "p95_ms": round(percentile(self.wall, 95), 3),
            "client_cpu_ms": round(statistics.median(self.cpu), 3),
        }


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


async def interleaved(
    variants: Mapping[str, Variant[Item]], items: Sequence[Item], *, rounds: int, disagreements: list[int] | None = None
) -> dict[str, Timing]:
    """Call every variant on every item, ``rounds`` times, one right after another and each first in its turn.

    A first pass is not counted: it fills caches and prepares statements. With ``disagreements``, the numbers of the
    items on which the variants' results differed are appended to it.
    """
    names = list(variants)
    timings = {name: Timing() for name in names}
    for turn in range(rounds + 1):
        for number, item in enumerate(items):
            shift = (number + turn) % len(names)
            results = []
            for name in names[shift:] + names[:shift]:
                cpu, wall = time.process_time(), time.perf_counter()
                results.append(await variants[name](item))
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                if turn:
                    timings[name].wall.append(wall * 1000)
                    timings[name].cpu.append(cpu * 1000)
            if turn == 0 and disagreements is not None and any(result != results[0] for result in results):
                disagreements.append(number)
    return timings


def backend_cpu_ms(connection: psycopg.Connection[TupleRow]) -> float:
    """Return the milliseconds that the connection's backend has computed so far (Linux)."""
    return int(Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text().split()[0]) / 1e6


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds by the clock, and of CPU of this process and its children and of the server (None if it is elsewhere)."""

    wall: float
    client: float
    server: float | None

    def since(self, earlier: Usage) -> Usage:
        server = None if self.server is None or earlier.server is None else self.server - earlier.server
        return Usage(self.wall - earlier.wall, self.client - earlier.client, server)


class UsageMeter:
    """Reads the time and the CPU that this process and the database server have used so far."""

    def __init__(self, dsn: str) -> None:
        with psycopg.connect(dsn) as connection:
            try:
                self._server = psutil.Process(connection.info.backend_pid).parent()
            except psutil.NoSuchProcess:
                self._server = None

    def read(self) -> Usage:
        server = None if self._server is None else _cpu_of(self._server)
        return Usage(time.perf_counter(), _cpu_of(psutil.Process()), server)


def _cpu_of(process: psutil.Process) -> float:
    """Return the seconds of CPU of a process and its descendants, those that ended included."""
    total = 0.0
    for item in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            total += math.fsum(item.cpu_times()[:4])
    return total


def machine(dsn: str) -> dict[str, object]:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT current_setting('server_version'), current_setting('shared_buffers'),"
            " (SELECT extversion FROM pg_extension WHERE extname = 'vector')"
        ).fetchone()
    assert row is not None
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "python": platform.python_version(),
        "postgresql": row[0],
        "shared_buffers": row[1],
        "pgvector": row[2],
    }


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class Report:
    """Collects tables; prints them as Markdown as they come, or all as one JSON object at the end."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._content: dict[str, object] = {}
        self._stream = sys.stderr if as_json else sys.stdout

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def facts(self, name: str, facts: Mapping[str, object]) -> None:
        self._content[name] = dict(facts)
        self.say(f"{name}: " + ", ".join(f"{key} {value}" for key, value in facts.items()))

    def table(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        self._content[name] = [dict(row) for row in rows]
        columns = list(dict.fromkeys(key for row in rows for key in row))
        cells = [columns, *(["" if row.get(key) is None else str(row[key]) for key in columns] for row in rows)]
        widths = [max(4, *(len(line[place]) for line in cells)) for place in range(len(columns))]
        lines = [
            " | ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in cells
        ]
        rule = "|".join(("-" * (width + 1) + ":") if place else "-" * (width + 2) for place, width in enumerate(widths))
        self.say(
            "\n".join(["", f"{name}:", "", f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:]), ""])
        )

    def end(self) -> None:
        if self._as_json:
            print(json.dumps(self._content, ensure_ascii=False, indent=2))
