"""Searches while hostile documents are uploaded, and the memory that is left afterwards.

    python -m benchmarks.hostile_parsing --chunks 10000

Twelve files that attack their parser are uploaded at once; one client searches before, meanwhile and after.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from benchmarks.corpus import Corpus, Query
from benchmarks.loading import load
from benchmarks.measure import Report, machine, percentile
from benchmarks.server import open_server
from benchmarks.service import Service, open_service, search_ids

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.parsing import hostile, samples

QUERIES = 100
IDLE_SEARCHES = 300
SETTLE_SECONDS = 30.0
UPLOAD_SECONDS = 600.0

UPLOADS: Mapping[str, hostile.Make] = {
    **{f"loop{number}.pdf": hostile.form_that_draws_itself_twice for number in range(3)},
    "doubling.pdf": hostile.forms_that_double,
    "flate.pdf": hostile.flate_bomb,
    "filters.pdf": hostile.nested_filters,
    "outline.pdf": hostile.outline_loop,
    "paragraphs.docx": lambda: hostile.word_of_many_paragraphs(60_000),
    "nested.eml": hostile.mail_of_nested_parts,
    "addresses.eml": lambda: hostile.mail_of_many_addresses(20_000),
    "clauses.md": lambda: hostile.clauses_of_steps(80_000),
    "headings.md": lambda: hostile.markdown_of_headings(100_000),
}


def upload(service: Service, name: str, content: bytes) -> tuple[str, float]:
    """Return the outcome and the seconds that it took."""
    address = urlsplit(service.url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=UPLOAD_SECONDS)
    started = time.perf_counter()
    headers = {"Content-Type": "application/octet-stream"}
    connection.request("PUT", f"/documents/{name}", content, headers)
    response = connection.getresponse()
    body = json.loads(response.read())
    return f"{response.status} {body.get('reason') or body.get('code') or 'stored'}", time.perf_counter() - started


def resident_mib(service: Service) -> float:
    """Return the memory of the service and its children."""
    process = psutil.Process(service.pid)
    total = 0
    for item in (process, *process.children(recursive=True)):
        try:
            total += item.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return round(total / 2**20, 1)


class Searches:
    """One client that searches without a pause."""

    def __init__(self, service: Service, queries: Iterator[Query]) -> None:
        self._connection = service.client()
        self._queries = queries

    def milliseconds(self) -> float:
        started = time.perf_counter()
        search_ids(self._connection, next(self._queries), mode="hybrid", filters={})
        return (time.perf_counter() - started) * 1000


def row(name: str, wall: list[float]) -> dict[str, object]:
    return {
        "moment": name,
        "searches": len(wall),
        **{f"p{percent}_ms": round(percentile(wall, percent), 1) for percent in (50, 95, 99)},
        "most_ms": round(max(wall), 1),
    }


def measure(service: Service, corpus: Corpus, report: Report) -> None:
    searches = Searches(service, cycle(corpus.queries(QUERIES)))
    files = {name: make() for name, make in UPLOADS.items()}
    for _ in range(QUERIES):
        searches.milliseconds()
    memory = {"before": resident_mib(service)}
    idle = [searches.milliseconds() for _ in range(IDLE_SEARCHES)]
    meanwhile: list[float] = []
    most = 0.0
    with ThreadPoolExecutor(len(files) + 1) as threads:
        uploads: dict[str, Future[tuple[str, float]]] = {
            name: threads.submit(upload, service, name, content) for name, content in files.items()
        }
        good = threads.submit(upload, service, "good.pdf", samples.pdf_file())
        while not all(future.done() for future in uploads.values()):
            meanwhile.append(searches.milliseconds())
            most = max(most, resident_mib(service))
    memory |= {"most": most, "at the end": resident_mib(service)}
    time.sleep(SETTLE_SECONDS)
    memory |= {f"{SETTLE_SECONDS:.0f} s later": resident_mib(service)}
    searches = Searches(service, cycle(corpus.queries(QUERIES)))  # the server closed the idle connection
    after = [searches.milliseconds() for _ in range(IDLE_SEARCHES)]
    outcomes = {"good.pdf": good.result(), **{name: future.result() for name, future in uploads.items()}}
    report.table(
        "uploads",
        [
            {"file": name, "bytes": len(files.get(name, b"")), "outcome": outcome, "seconds": round(seconds, 1)}
            for name, (outcome, seconds) in outcomes.items()
        ],
    )
    report.table("searches", [row("idle", idle), row("meanwhile", meanwhile), row("after", after)])
    report.facts("MiB of the service and its children", memory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    corpus = Corpus(chunks=arguments.chunks)
    report = Report(as_json=arguments.json)
    with open_server() as server:
        owner, application = server.database("hostile_parsing")
        load(owner, corpus, application_dsn=application)
        report.facts("machine", machine(owner))
        with open_service(application, corpus, queries=QUERIES) as service:
            measure(service, corpus, report)
    report.end()


if __name__ == "__main__":
    main()
