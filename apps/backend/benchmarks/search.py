"""Search latency by filter and mode, and its traffic, against the same search by a bare driver in the same run.

    python -m benchmarks.search --chunks 100000

Every variant answers every query, one right after another, each first in its turn; medians are compared. The load of
the machine then falls on all of them alike.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import raw
from benchmarks.corpus import Corpus, Query
from benchmarks.library import open_container_over
from benchmarks.loading import load
from benchmarks.measure import Report, Timing, Variant, interleaved, machine
from benchmarks.server import Server, open_server
from benchmarks.service import open_service, search_ids
from benchmarks.wire import traced
from ragcorp.domain.principal import Principal
from ragcorp.interface.library.rag import Rag
from ragcorp.interface.request_values import parse_filters
from ragcorp.main.opening.library import make_rag

FILTERS: Mapping[str, Mapping[str, object]] = {
    "none": {},
    "5 % (artifact_type)": {"artifact_type": "contract"},
    "0.5 % (metadata)": {"project": "p007"},
    "95 % (artifact_type)": {"artifact_type": "document"},
}
FUSED = "one fused statement, bare driver"

Search = Variant[Query]


def through_library(rag: Rag, *, mode: str = "hybrid", filters: Mapping[str, object] | None = None) -> Search:
    async def search(query: Query) -> list[int]:
        response = await rag.search(query.text, limit=10, mode=mode, filters=filters)
        return [int(hit.chunk.id) for hit in response.hits]

    return search


def blocking(call: Callable[[Query], object]) -> Search:
    """A call of the bare driver; it blocks the loop, on which nothing else runs meanwhile."""

    async def search(query: Query) -> object:
        return call(query)

    return search


def compared(timings: Mapping[str, Timing], *, to: str) -> list[dict[str, object]]:
    base = timings[to].row()["p50_ms"]
    return [
        {"variant": name, **timing.row(), "ratio": round(timing.row()["p50_ms"] / base, 2)}
        for name, timing in timings.items()
    ]


async def latency(dsn: str, corpus: Corpus, report: Report, *, queries: int, rounds: int) -> None:
    asked = corpus.queries(queries)
    with ExitStack() as stack:
        service = stack.enter_context(open_service(dsn, corpus, queries=queries))
        http = service.client()
        bare = stack.enter_context(raw.connect(dsn))
        bare_generic = stack.enter_context(raw.connect(dsn, plan_cache_mode="force_generic_plan"))
        as_library = stack.enter_context(raw.connect(dsn, as_library=True))
        async with open_container_over(dsn, asked) as container:
            rag = make_rag(container)
            for label, given in FILTERS.items():
                filters = parse_filters(given)
                own = raw.RawSearch(bare, principal=Principal(), filters=filters)
                own_generic = raw.RawSearch(bare_generic, principal=Principal(), filters=filters)
                channels = raw.RawSearch(as_library, principal=Principal(), filters=filters)

                async def over_http(query: Query, given: Mapping[str, object] = given) -> list[int]:
                    return search_ids(http, query, mode="hybrid", filters=given)

                differing: list[int] = []
                timings = await interleaved(
                    {
                        FUSED: blocking(own.fused),
                        "the same, generic plans": blocking(own_generic.fused),
                        "our statements one by one, bare driver": blocking(channels.one_after_another),
                        "library, hybrid": through_library(rag, filters=given),
                        "HTTP, hybrid": over_http,
                    },
                    asked,
                    rounds=rounds,
                    disagreements=differing,
                )
                rows = compared(timings, to=FUSED)
                for row, timing in zip(rows, timings, strict=True):
                    if timing.startswith("HTTP"):
                        del row["client_cpu_ms"]
                report.table(f"hybrid, filter: {label}, {corpus.chunks} chunks", rows)
                report.say(f"queries on which the variants' results differ: {len(differing)} of {len(asked)}\n")
            channels = raw.RawSearch(as_library, principal=Principal())
            for mode, call in (("dense", channels.dense), ("sparse", channels.sparse)):
                timings = await interleaved(
                    {"our statements, bare driver": blocking(call), "library": through_library(rag, mode=mode)},
                    asked,
                    rounds=rounds,
                )
                report.table(
                    f"{mode} only, {corpus.chunks} chunks", compared(timings, to="our statements, bare driver")
                )


async def traffic(dsn: str, corpus: Corpus, report: Report) -> None:
    """Statements and bytes of one search, its statements prepared already."""
    asked = corpus.queries(20)
    rows: list[dict[str, object]] = []
    with traced() as trace:
        async with open_container_over(dsn, asked) as container:
            rag = make_rag(container)
            for mode in ("dense", "sparse", "hybrid"):
                search = through_library(rag, mode=mode)
                for query in asked[:-1]:
                    await search(query)
                trace.take()
                await search(asked[-1])
                counted = trace.take()
                rows.append(
                    {
                        "mode": mode,
                        "round trips": counted.round_trips,
                        "statements, settings included": len(counted.statements),
                        "bytes sent": counted.sent_bytes,
                        "bytes received": counted.received_bytes,
                    }
                )
    report.table("on the wire, one search", rows)


async def run(arguments: argparse.Namespace, server: Server, report: Report) -> None:
    corpus = Corpus(chunks=arguments.chunks, seed=arguments.seed)
    owner_dsn, dsn = server.database(f"ragcorp_bench_{corpus.chunks}")
    took = load(owner_dsn, corpus, application_dsn=dsn)
    report.facts("machine", machine(dsn))
    report.facts("loading (seconds)", {part: round(seconds, 1) for part, seconds in took.items()})
    sizes: dict[str, Any] = {"queries": arguments.queries, "rounds": arguments.rounds}
    await latency(dsn, corpus, report, **sizes)
    await traffic(dsn, corpus, report)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=100, help="different queries")
    parser.add_argument("--rounds", type=int, default=5, help="how often each variant answers each query")
    parser.add_argument("--data-dir", type=Path, help="keep the embedded server's files there for the next run")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    report = Report(as_json=arguments.json)
    with open_server(data_dir=arguments.data_dir) as server:
        asyncio.run(run(arguments, server, report))
    report.end()


if __name__ == "__main__":
    main()
