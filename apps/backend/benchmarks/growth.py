"""The same search over a large and a small corpus, what each keeps on disk, and what a further document costs.

    python -m benchmarks.growth --chunks 1000000 --base 100000 --data-dir DIR --shared-buffers 4GB

Loading a million chunks takes a quarter of an hour of CPU and more, 20 GB of disk, and 3 GB of memory for the HNSW
index: keep the folder. Both corpora are in one server, and are searched in one interleaved run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import psycopg

from benchmarks.corpus import Corpus
from benchmarks.ingestion import VectorsFromMemory, write_folder
from benchmarks.loading import load
from benchmarks.measure import Report, machine
from benchmarks.search import FILTERS
from benchmarks.server import Server, open_server
from benchmarks.side_by_side.measuring import Call, interleave
from benchmarks.side_by_side.processes import Process, ServerCpu, started
from benchmarks.side_by_side.variant import Kind
from ragcorp.main.opening.library import make_rag
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container

NEW_CHUNKS = 2000

SIZES = """
    SELECT coalesce(t.relname || ': ' || i.relname, t.relname) AS relation,
           CASE WHEN i.oid IS NULL THEN pg_table_size(t.oid) ELSE pg_relation_size(i.oid) END AS bytes
    FROM pg_class t
    LEFT JOIN LATERAL (
        SELECT NULL::oid AS oid, NULL::name AS relname
        UNION ALL SELECT c.oid, c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
        WHERE x.indrelid = t.oid) AS i ON true
    WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace
"""


def sizes(dsn: str) -> dict[str, int]:
    """Return the bytes of every table (with what it keeps aside) and index."""
    with psycopg.connect(dsn) as connection:
        return {name: int(size) for name, size in connection.execute(SIZES).fetchall()}


def size_rows(small: Mapping[str, int], large: Mapping[str, int], *, base: int, chunks: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    named = sorted(large, key=lambda name: -large[name])
    for name, of_small, of_large in [
        ("all", sum(small.values()), sum(large.values())),
        *((name, small.get(name, 0), large[name]) for name in named if large[name] > 8 * chunks),
    ]:
        rows.append(
            {
                "relation": name,
                f"MB of {chunks}": round(of_large / 1e6, 1),
                f"bytes a chunk of {base}": round(of_small / base),
                f"of {chunks}": round(of_large / chunks),
            }
        )
    return rows


def searches(dsns: Mapping[int, str], *, queries: int, seed: int, rounds: int) -> list[dict[str, object]]:
    """Return p50 and CPU of each kind of search at both sizes, and the ratio of the large to the small.

    Each corpus is asked about its own topics.
    """
    hybrid = ("own", {"mode": "hybrid"})
    kinds: list[tuple[str, tuple[str, Mapping[str, object]], Mapping[str, object]]] = [
        ("hybrid, one statement", ("bare", {"statement": "bm25"}), {}),
        ("dense, library", ("own", {"mode": "dense"}), {}),
        ("sparse, library", ("own", {"mode": "sparse"}), {}),
        *((f"hybrid, library, filter: {name}", hybrid, given) for name, given in FILTERS.items()),
    ]
    calls: dict[str, Call] = {}
    with ExitStack() as stack:
        for size, dsn in dsns.items():
            server, asked = ServerCpu(dsn), Corpus(chunks=size, seed=seed).queries(queries)
            processes: dict[str, Process] = {}
            for name, (module, options), filters in kinds:
                key = f"{module} {options}"
                if key not in processes:
                    kind = Kind(module=module, base="")
                    processes[key] = stack.enter_context(
                        started(kind, python=sys.executable, dsn=dsn, queries=asked, options=options)
                    )
                calls[f"{name}/{size}"] = Call(process=processes[key], server=server, filters=filters)
        measured = interleave(calls, queries=queries, rounds=rounds)
    small, large = dsns
    return [
        {
            "search": name,
            f"p50 ms, {small}": round(measured[f"{name}/{small}"].p50, 2),
            f"p50 ms, {large}": round(measured[f"{name}/{large}"].p50, 2),
            "ratio": round(measured[f"{name}/{large}"].p50 / measured[f"{name}/{small}"].p50, 2),
            f"server CPU, {small}": round(measured[f"{name}/{small}"].server_cpu, 2),
            f"server CPU, {large}": round(measured[f"{name}/{large}"].server_cpu, 2),
        }
        for name, _, _ in kinds
    ]


async def ingestion(dsn: str, owner_dsn: str, *, seed: int) -> dict[str, object]:
    """Ingest a folder into the filled database, embed it, and delete it; the rates are chunks a second."""
    corpus, server = Corpus(chunks=NEW_CHUNKS, seed=seed), ServerCpu(dsn)
    settings = load_settings({"embedding_provider": "none", "embed_wait_seconds": 0})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "grown").mkdir()
        write_folder(folder / "grown", corpus)  # another folder's names are not those of the corpus
        async with open_container(settings, dsn, parts=Parts(embedder=VectorsFromMemory(corpus))) as container:
            rag = make_rag(container)
            taken: dict[str, object] = {}
            for part, work in (("text", rag.ingest_folder(folder)), ("vectors", _embed(container))):
                wall, client, spent = time.perf_counter(), time.process_time(), server.milliseconds()
                await work
                taken[f"{part}, chunks/s"] = round(NEW_CHUNKS / (time.perf_counter() - wall))
                taken[f"{part}, client CPU ms a chunk"] = round((time.process_time() - client) * 1000 / NEW_CHUNKS, 2)
                taken[f"{part}, server CPU ms a chunk"] = round((server.milliseconds() - spent) / NEW_CHUNKS, 2)
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("DELETE FROM documents WHERE chunker <> 'bench'")
    return taken


async def _embed(container: Container) -> None:
    """Work off the backlog; `Rag.embed_pending` would first search all chunks for those that it lacks."""
    while not (await container.use_cases.embed_pending.embed()).idle:
        pass


def run(arguments: argparse.Namespace, server: Server, report: Report) -> None:
    corpora = [Corpus(chunks=chunks, seed=arguments.seed) for chunks in (arguments.base, arguments.chunks)]
    owners, dsns = {}, {}
    for corpus in corpora:
        owners[corpus.chunks], dsns[corpus.chunks] = server.database(f"ragcorp_bench_{corpus.chunks}")
        took = load(owners[corpus.chunks], corpus, application_dsn=dsns[corpus.chunks])
        report.facts(f"loading of {corpus.chunks} (seconds)", {part: round(value, 1) for part, value in took.items()})
    small, large = dsns
    report.facts("machine", machine(dsns[large]))
    report.table("disk", size_rows(sizes(owners[small]), sizes(owners[large]), base=small, chunks=large))
    report.table("search", searches(dsns, queries=arguments.queries, seed=arguments.seed, rounds=arguments.rounds))
    rows = [
        {"chunks": size} | asyncio.run(ingestion(dsns[size], owners[size], seed=arguments.seed + 1)) for size in dsns
    ]
    report.table(f"ingestion of {NEW_CHUNKS} further chunks", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--base", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=40, help="different queries")
    parser.add_argument("--rounds", type=int, default=3, help="how often each search answers each query")
    parser.add_argument("--shared-buffers", default="4GB", help="of the embedded server")
    parser.add_argument("--data-dir", type=Path, help="keep the embedded server's files there for the next run")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    report = Report(as_json=arguments.json)
    with open_server(data_dir=arguments.data_dir, shared_buffers=arguments.shared_buffers) as server:
        run(arguments, server, report)
    report.end()


if __name__ == "__main__":
    main()
