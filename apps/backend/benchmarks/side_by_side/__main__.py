"""Compare hybrid search with other libraries and with bare SQL, in one interleaved run.

    python -m benchmarks.side_by_side --chunks 100000

Every variant has a window of 100 candidates a list, fuses by RRF, and returns ten chunks with their contents. Each of
the other libraries has the same texts and vectors in a table of its own, with the indexes that its documentation
recommends. They are installed from side_by_side/requirements.txt into `--libraries`; ragcorp does not depend on them.
CPU is the mean of all searches, the client's and the server's, each by the kernel's count.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.corpus import Corpus
from benchmarks.loading import load
from benchmarks.measure import Report, machine
from benchmarks.server import open_server
from benchmarks.side_by_side.measuring import compare

LIBRARIES = Path(__file__).parent / ".venv"


def parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=60, help="different queries")
    parser.add_argument("--rounds", type=int, default=4, help="how often each variant answers each query")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a throughput measurement")
    parser.add_argument("--libraries", type=Path, default=LIBRARIES, help="virtual environment of the other libraries")
    parser.add_argument("--data-dir", type=Path, help="keep the embedded server's files there for the next run")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    return parser


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
        )
    report.table(f"hybrid search, {corpus.chunks} chunks", compared.rows())
    report.end()


if __name__ == "__main__":
    main()
