"""What a search must cost, and what it costs: the targets of docs/benchmarks.md beside this run's figures.

    python -m benchmarks.targets --chunks 100000

Prints the comparison of `benchmarks.side_by_side` too. Two targets have commands of their own: ingestion
(`benchmarks.ingestion`), and growth to a million chunks (`benchmarks.growth`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from benchmarks.corpus import Corpus
from benchmarks.loading import load
from benchmarks.measure import Report, backend_cpu_ms, machine
from benchmarks.search import FILTERS
from benchmarks.server import open_server
from benchmarks.side_by_side.__main__ import parser
from benchmarks.side_by_side.measuring import Comparison, compare
from benchmarks.side_by_side.variant import CLIENTS, HTTP, LANGCHAIN, LIBRARY, LIBRARY_AND, RAW_BM25
from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.domain.search.sources import DENSE, FULL_TEXT

NARROW = "ragcorp, a filter that 5 % pass"
TERMS = "SELECT * FROM query_terms('default', query_languages('default', 'es'), %s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A figure that must not exceed ``floor`` and should reach ``aim``; for ``rising`` ones, not fall below."""

    name: str
    figure: float
    floor: float
    aim: float
    rising: bool = False

    def row(self) -> dict[str, object]:
        def reached(bound: float) -> bool:
            return self.figure >= bound if self.rising else self.figure <= bound

        met = "aim" if reached(self.aim) else "floor" if reached(self.floor) else "no"
        return {
            "target": self.name, "figure": round(self.figure, 3), "floor": self.floor, "aim": self.aim, "met": met
        }  # fmt: skip


def fusion_ms(*, runs: int = 300) -> float:
    """Return the CPU of fusing the four lists of the default profile: 100, 100, 20 and 20 hits."""

    def ranked(source: str, ids: Sequence[int]) -> RankedList:
        hits = tuple(Hit(chunk_id=str(chunk), score=1 / place) for place, chunk in enumerate(ids, start=1))
        return RankedList(source=source, score_type=ScoreType.BM25, hits=hits)

    lists = [
        ranked(DENSE, range(100)),
        ranked(FULL_TEXT, range(170, 70, -1)),
        ranked("every_word", range(75, 95)),
        ranked("identifiers", range(85, 105)),
    ]
    fusion = RankFusionService()
    spent = []
    for _ in range(runs):
        started = time.process_time_ns()
        fusion.fuse(lists)
        spent.append((time.process_time_ns() - started) / 1e6)
    return statistics.median(spent)


def query_terms_ms(dsn: str, corpus: Corpus, *, runs: int = 10) -> float:
    """Return the server's CPU of `query_terms`, planning included: the median query's."""
    spent = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        for query in corpus.queries(40):
            connection.execute(TERMS, [query.text], prepare=True).fetchall()
            before = backend_cpu_ms(connection)
            for _ in range(runs):
                connection.execute(TERMS, [query.text], prepare=True).fetchall()
            spent.append((backend_cpu_ms(connection) - before) / runs)
    return statistics.median(spent)


def targets(compared: Comparison, *, fusion: float, terms: float) -> list[Target]:
    library, http, statement = (compared.measured[name] for name in (LIBRARY, HTTP, RAW_BM25))
    narrow = compared.measured[NARROW].p50 / library.p50
    rows = [
        Target(name="client CPU of a search, library, ms", figure=library.client_cpu, floor=2.5, aim=1.5),
        Target(name="p50 to one statement, library", figure=library.p50 / statement.p50, floor=1.15, aim=1.05),
        Target(name="p50 to one statement, HTTP", figure=http.p50 / statement.p50, floor=1.35, aim=1.2),
        Target(name="CPU of the service per search, ms", figure=http.client_cpu, floor=4, aim=3),
        Target(name="server CPU of one BM25 statement, ms", figure=statement.server_cpu, floor=10, aim=6),
        Target(
            name=f"searches/s, {CLIENTS} clients, library", figure=library.throughput, floor=150, aim=220, rising=True
        ),
        Target(name="p50 with a filter that 5 % pass, to none", figure=narrow, floor=1.5, aim=1.0),
        Target(name="fusion of lists of 100, 100, 20, 20, ms", figure=fusion, floor=0.15, aim=0.08),
        Target(name="query_terms with its planning, ms", figure=terms, floor=0.5, aim=0.3),
    ]
    if LANGCHAIN not in compared.missing:
        ratio = compared.measured[LIBRARY_AND].throughput / compared.measured[LANGCHAIN].throughput
        name = f"searches/s, {CLIENTS} clients, ts_rank_cd and AND, to LangChain"
        rows.append(Target(name=name, figure=ratio, floor=1.8, aim=2.5, rising=True))
    return rows


def main() -> None:
    arguments = parser(__doc__).parse_args()
    report, corpus = Report(as_json=arguments.json), Corpus(chunks=arguments.chunks, seed=arguments.seed)
    with open_server(data_dir=arguments.data_dir) as server:
        owner_dsn, dsn = server.database(f"ragcorp_bench_{corpus.chunks}")
        load(owner_dsn, corpus, application_dsn=dsn)
        report.facts("machine", machine(dsn))
        compared = compare(
            dsn,
            owner_dsn,
            corpus,
            libraries=arguments.libraries,
            queries=arguments.queries,
            rounds=arguments.rounds,
            seconds=arguments.seconds,
            filtered={NARROW: (LIBRARY, FILTERS["5 % (artifact_type)"])},
        )
        report.table(f"hybrid search, {corpus.chunks} chunks", compared.rows())
        rows = targets(compared, fusion=fusion_ms(), terms=query_terms_ms(dsn, corpus))
    report.table(f"targets, {corpus.chunks} chunks", [target.row() for target in rows])
    report.end()


if __name__ == "__main__":
    main()
