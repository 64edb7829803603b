"""Does the dense channel find what it should: recall against an exact scan, with filters and with many workspaces?

    python -m benchmarks.recall --chunks 20000

Recall@10 is the share of the ten nearest chunks (by an exact scan in numpy) that a dense search returns in its ten.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from benchmarks import raw
from benchmarks.corpus import Corpus, Query
from benchmarks.library import open_container_over
from benchmarks.loading import load
from benchmarks.measure import Report, machine, percentile
from benchmarks.search import FILTERS
from benchmarks.server import Server, open_server
from ragcorp.domain.principal import Principal
from ragcorp.interface.request_values import parse_filters
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.container import Container

LIMIT = 10
MANY = [f"p{number:03d}" for number in range(30)]
FILTERED = {**FILTERS, "15 % (30 metadata values)": {"project": MANY}}
SELECTED: Mapping[str, str] = {
    "none": "SELECT id FROM chunks WHERE workspace = %(workspace)s",
    "5 % (artifact_type)": "SELECT id FROM chunks WHERE workspace = %(workspace)s AND artifact_type = 'contract'",
    "95 % (artifact_type)": "SELECT id FROM chunks WHERE workspace = %(workspace)s AND artifact_type = 'document'",
    "0.5 % (metadata)": """
        SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
        WHERE c.workspace = %(workspace)s AND d.metadata ->> 'project' = 'p007'""",
    "15 % (30 metadata values)": """
        SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
        WHERE c.workspace = %(workspace)s AND d.metadata ->> 'project' < 'p030'""",
}
"""The filters of benchmarks.search, said anew, since the library's own predicates are under test."""


class Exact:
    """The exact ranking, over all vectors in memory."""

    def __init__(self, corpus: Corpus, dsn: str) -> None:
        self._vectors = corpus.vectors()
        self._dsn = dsn

    def selected(self, filter_name: str, workspace: str) -> NDArray[np.int64]:
        with psycopg.connect(self._dsn) as connection:
            rows = connection.execute(SELECTED[filter_name], {"workspace": workspace}).fetchall()
        return np.array(sorted(row[0] for row in rows), dtype=np.int64)

    def nearest(self, query: Query, selected: NDArray[np.int64]) -> set[int]:
        similarities = self._vectors[selected - 1] @ np.array(query.vector, dtype=np.float32)
        return set(selected[np.argsort(-similarities)[:LIMIT]].tolist())


async def measured(
    container: Container, exact: Exact, queries: Sequence[Query], *, filter_name: str, workspaces: Sequence[str]
) -> dict[str, object]:
    """Search in each of the workspaces in turn; a hit that the filter or the workspace excludes counts as foreign."""
    rag = make_rag(container)
    allowed = {workspace: exact.selected(filter_name, workspace) for workspace in workspaces}
    responses, took = [], []
    for number, query in enumerate(queries):
        asker = rag.as_principal(Principal(workspace=workspaces[number % len(workspaces)]))
        started = time.perf_counter()
        responses.append(await asker.search(query.text, limit=LIMIT, mode="dense", filters=FILTERED[filter_name]))
        took.append((time.perf_counter() - started) * 1000)
    recalls, short, foreign = [], 0, 0
    for number, (query, response) in enumerate(zip(queries, responses, strict=True)):
        selected = allowed[workspaces[number % len(workspaces)]]
        results = {int(hit.chunk.id) for hit in response.hits}
        wanted = exact.nearest(query, selected)
        recalls.append(len(results & wanted) / len(wanted) if wanted else 1.0)
        short += len(results) < min(LIMIT, len(selected))
        foreign += len(results - set(selected.tolist()))
    return {
        "filter": filter_name,
        "chunks that pass": round(float(np.mean([len(ids) for ids in allowed.values()]))),
        "recall@10": round(float(np.mean(recalls)), 4),
        "worst query": round(min(recalls), 2),
        "short lists": short,
        "foreign hits": foreign,
        "p50_ms": round(percentile(took, 50), 2),
        "p95_ms": round(percentile(took, 95), 2),
    }


def branches(dsn: str, queries: Sequence[Query], *, workspace: str) -> list[dict[str, object]]:
    """Say which branch of the dense statement ran for each filter."""
    rows: list[dict[str, object]] = []
    with raw.connect(dsn, as_library=True) as connection:
        for name, given in FILTERED.items():
            search = raw.RawSearch(connection, principal=Principal(workspace=workspace), filters=parse_filters(given))
            nodes = list(_nodes(search.plan(search.dense_sql, queries[0])))
            ran = [node for node in nodes if node.get("Actual Loops", 0) > 0]
            rows.append(
                {
                    "filter": name,
                    "HNSW scan": "ran"
                    if any("hnsw" in node.get("Index Name", "") for node in ran)
                    else "never executed",
                    "vectors compared exactly": _compared_exactly(nodes),
                    "parallel workers": sum(node.get("Workers Launched", 0) for node in nodes),
                }
            )
    return rows


def _nodes(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    nodes = [dict(plan)]
    for child in plan.get("Plans", ()):
        nodes += _nodes(child)
    return nodes


def _compared_exactly(nodes: Sequence[Mapping[str, Any]]) -> int:
    """Rows that came out of chunk_embeddings by another way than the graph, vectors and all."""
    rows: float = sum(
        node["Actual Rows"] * node["Actual Loops"]
        for node in nodes
        if node.get("Relation Name") == "chunk_embeddings"
        and "hnsw" not in node.get("Index Name", "")
        and node["Node Type"] != "Index Only Scan"
    )
    return round(rows)


async def run(arguments: argparse.Namespace, server: Server, report: Report) -> None:
    for workspaces in (1, arguments.workspaces):
        corpus = Corpus(chunks=arguments.chunks, seed=arguments.seed, workspaces=workspaces)
        suffix = f"_{workspaces}" if workspaces > 1 else ""
        owner_dsn, dsn = server.database(f"ragcorp_bench_{corpus.chunks}{suffix}")
        load(owner_dsn, corpus, application_dsn=dsn)
        if workspaces == 1:
            report.facts("machine", machine(dsn))
        queries = corpus.queries(arguments.queries)
        exact = Exact(corpus, dsn)
        asked = [corpus.workspace(number) for number in range(min(workspaces, 20))]
        title = f"{corpus.chunks} chunks, {workspaces} workspace(s)"
        async with open_container_over(dsn, queries) as container:
            report.table(
                f"dense, {title}",
                [await measured(container, exact, queries, filter_name=name, workspaces=asked) for name in FILTERED],
            )
        report.table(f"branches of the dense statement, {title}", branches(dsn, queries, workspace=asked[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--workspaces", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--data-dir", type=Path, help="keep the embedded server's files there for the next run")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    report = Report(as_json=arguments.json)
    with open_server(data_dir=arguments.data_dir) as server:
        asyncio.run(run(arguments, server, report))
    report.end()


if __name__ == "__main__":
    main()
