"""Bounded load on the service from another process: errors, leaks and latencies.

    python -m benchmarks.load --chunks 100000 --seconds 300

Concurrent searches and streams of answers go on for so long. It ends with code 1 where anything was answered with a 5xx
or broke off, or where connections, files or memory of the service were still growing in the last quarter.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import httpx
import psutil
import psycopg

from benchmarks.corpus import Corpus, Query
from benchmarks.loading import load
from benchmarks.measure import Report, machine, percentile
from benchmarks.server import open_server
from benchmarks.service import open_service

QUERIES = 500
SAMPLE_SECONDS = 1.0
SETTLE_SECONDS = 5.0
GROWTH_BYTES = 48 * 1024 * 1024
"""What memory may grow between the second and the last quarter: caches fill, arenas are kept."""
SPARE_FILES = 5
SAMPLES_OF_A_PLATEAU = 60
"""A shorter load is all warming up."""
OTHER_CONNECTIONS = 2
"""Beside the pool: workers that listen, and what the server itself starts."""
SETTINGS = {"database_pool_size": 16, "admission_wait_seconds": 10.0}
"""What an operator of so much load sets (docs/operations.md): who finds no place waits, and is answered."""
LAST_EVENTS = ("final_answer",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The service at one moment."""

    resident: int
    files: int
    threads: int
    backends: int


@dataclass(slots=True)
class Outcome:
    """What came of the load."""

    pool_size: int
    statuses: Counter[str] = field(default_factory=Counter)
    search_seconds: list[float] = field(default_factory=list)
    stream_seconds: list[float] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    before: Sample | None = None
    after: Sample | None = None

    def complaints(self) -> list[str]:
        """Return what must not be; nothing if all is well."""
        result = [f"{count} x {status}" for status, count in self.statuses.items() if not status.endswith(" 200")]
        if self.before is None or self.after is None:
            return [*result, "the load never ran"]
        files = _median([sample.files for sample in self._quarter(1)])
        if _median([sample.files for sample in self._quarter(3)]) > files + SPARE_FILES:
            result.append("open files and sockets grow")
        if self.after.files > files:
            result.append(f"{self.after.files} files are open after the load, {files} were under it")
        most = max(sample.backends for sample in self.samples)
        if most > (allowed := self.pool_size + OTHER_CONNECTIONS):
            result.append(f"{most} connections to the database, and the pool has {self.pool_size} (allowed: {allowed})")
        grown = _median([s.resident for s in self._quarter(3)]) - _median([s.resident for s in self._quarter(1)])
        if len(self.samples) >= SAMPLES_OF_A_PLATEAU and grown > GROWTH_BYTES:
            result.append(f"memory grew by {grown // 1024**2} MiB between the second and the last quarter")
        return result

    def _quarter(self, number: int) -> Sequence[Sample]:
        size = max(1, len(self.samples) // 4)
        return self.samples[number * size : (number + 1) * size] or self.samples[-1:]

    def rows(self) -> list[dict[str, object]]:
        return [
            {
                "request": name,
                "answers": len(seconds),
                **{f"p{share} ms": round(percentile(seconds, share) * 1000, 1) for share in (50, 95, 99)},
            }
            for name, seconds in (("search", self.search_seconds), ("ask, streamed", self.stream_seconds))
            if seconds
        ]


async def bounded_load(
    url: str,
    pid: int,
    dsn: str,
    queries: Sequence[Query],
    *,
    seconds: float,
    searches: int,
    streams: int,
    pool_size: int,
) -> Outcome:
    """Load the service at ``url``, whose process is ``pid`` and whose database ``dsn`` is."""
    outcome = Outcome(pool_size=pool_size)
    process = psutil.Process(pid)
    ends = time.monotonic() + seconds
    turn = cycle(queries)
    limits = httpx.Limits(max_connections=searches + streams, max_keepalive_connections=searches + streams)
    outcome.before = await asyncio.to_thread(sample, process, dsn)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
        workers = [
            *(asyncio.create_task(_search(client, turn, outcome, ends)) for _ in range(searches)),
            *(asyncio.create_task(_ask(client, turn, outcome, ends)) for _ in range(streams)),
        ]
        while time.monotonic() < ends:
            outcome.samples.append(await asyncio.to_thread(sample, process, dsn))
            await asyncio.sleep(SAMPLE_SECONDS)
        await asyncio.gather(*workers)
    await asyncio.sleep(SETTLE_SECONDS)
    outcome.after = await asyncio.to_thread(sample, process, dsn)
    return outcome


def sample(process: psutil.Process, dsn: str) -> Sample:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    return Sample(
        resident=process.memory_info().rss,
        files=process.num_fds(),
        threads=process.num_threads(),
        backends=int(row[0]) if row else 0,
    )


async def _search(client: httpx.AsyncClient, queries: Iterator[Query], outcome: Outcome, ends: float) -> None:
    while time.monotonic() < ends:
        started = time.monotonic()
        try:
            answer = await client.post("/search", json={"query": next(queries).text, "limit": 10, "mode": "hybrid"})
        except httpx.HTTPError as error:
            outcome.statuses[f"search {type(error).__name__}"] += 1
            continue
        outcome.statuses[f"search {_status(answer.status_code, answer.content)}"] += 1
        outcome.search_seconds.append(time.monotonic() - started)


async def _ask(client: httpx.AsyncClient, queries: Iterator[Query], outcome: Outcome, ends: float) -> None:
    while time.monotonic() < ends:
        started = time.monotonic()
        last = last_line = ""
        try:
            async with client.stream("POST", "/ask", json={"query": next(queries).text, "stream": True}) as answer:
                async for line in answer.aiter_lines():
                    last_line = line or last_line
                    if line.startswith("event:"):
                        last = line.removeprefix("event:").strip()
        except httpx.HTTPError as error:
            outcome.statuses[f"ask {type(error).__name__}"] += 1
            continue
        refused = b"" if answer.status_code == httpx.codes.OK else last_line.encode()
        whole = answer.status_code != httpx.codes.OK or last in LAST_EVENTS
        outcome.statuses[f"ask {_status(answer.status_code, refused) if whole else f'ended in {last}'}"] += 1
        outcome.stream_seconds.append(time.monotonic() - started)


def _status(code: int, body: bytes) -> str:
    """Name a refusal for want of places apart from an error of the service."""
    return f"{code} busy" if code == httpx.codes.SERVICE_UNAVAILABLE and b'"busy"' in body else str(code)


def _median(values: Sequence[int]) -> int:
    return sorted(values)[len(values) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--searches", type=int, default=50, help="searches at once")
    parser.add_argument("--streams", type=int, default=10, help="streams at once")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    arguments = parser.parse_args()
    corpus = Corpus(chunks=arguments.chunks)
    report = Report(as_json=arguments.json)
    with open_server() as server:
        owner, application = server.database("load")
        load(owner, corpus, application_dsn=application)
        report.facts("machine", machine(owner))
        with open_service(application, corpus, queries=QUERIES, settings=SETTINGS) as service:
            outcome = asyncio.run(
                bounded_load(
                    service.url,
                    service.pid,
                    owner,
                    corpus.queries(QUERIES),
                    seconds=arguments.seconds,
                    searches=arguments.searches,
                    streams=arguments.streams,
                    pool_size=SETTINGS["database_pool_size"],
                )
            )
    report.facts("settings", dict(SETTINGS))
    report.facts("answers", dict(outcome.statuses))
    report.table("latency", outcome.rows())
    samples = [("before", outcome.before), ("last under load", outcome.samples[-1]), ("after", outcome.after)]
    report.table(
        "service",
        [
            {
                "moment": name,
                "MiB": result.resident // 1024**2,
                "files": result.files,
                "threads": result.threads,
                "connections": result.backends,
            }
            for name, result in samples
            if result is not None
        ],
    )
    complaints = outcome.complaints()
    report.facts("complaints", dict(enumerate(complaints)))
    report.end()
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
