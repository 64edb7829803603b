"""The service under measurement, in a process of its own: `python -m benchmarks.service` is that process."""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from benchmarks.corpus import Corpus, Query
from benchmarks.library import open_container_over
from ragcorp.main.process.logs import configure_logging
from ragcorp.main.service.listener import listening_socket
from ragcorp.main.service.serving import serve_container

DSN = "BENCHMARK_DSN"


class Service:
    """A running service."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self.pid = pid
        self._address = urlsplit(url)

    def client(self) -> http.client.HTTPConnection:
        """Return a connection that is kept alive: the service is timed, not a client library."""
        return http.client.HTTPConnection(str(self._address.hostname), self._address.port, timeout=30)

    def cpu_seconds(self) -> float:
        """User and system time of the process so far (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def search_ids(
    connection: http.client.HTTPConnection, query: Query, *, mode: str, filters: Mapping[str, object]
) -> list[int]:
    body = json.dumps({"query": query.text, "limit": 10, "mode": mode, "filters": filters}).encode()
    connection.request("POST", "/search", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    payload = response.read()
    if response.status != http.client.OK:
        raise SystemExit(f"The service answered {response.status}: {payload[:500]!r}")
    return [int(result["id"]) for result in json.loads(payload)["results"]]


@contextmanager
def open_service(
    dsn: str, corpus: Corpus, *, queries: int, settings: Mapping[str, object] | None = None
) -> Iterator[Service]:
    """Start the service, with ``settings`` beside those of every benchmark."""
    arguments = ["--chunks", str(corpus.chunks), "--seed", str(corpus.seed), "--queries", str(queries)]
    arguments += ["--settings", json.dumps(dict(settings or {}))]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.service", *arguments],
        env={**os.environ, DSN: dsn},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise SystemExit("The service did not start.")
        yield Service(url, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=30)


async def _serve(dsn: str, corpus: Corpus, queries: int, settings: Mapping[str, object]) -> None:
    configure_logging("error")  # each refusal is a line, and the client counts them
    async with open_container_over(dsn, corpus.queries(queries), **settings) as container:
        with listening_socket("127.0.0.1", 0) as listener:
            await serve_container(container, listener, lambda url: print(url, flush=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--chunks", "--seed", "--queries"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--settings", type=json.loads, default={})
    arguments = parser.parse_args()
    corpus = Corpus(chunks=arguments.chunks, seed=arguments.seed)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as `ragcorp serve` does
        runner.run(_serve(os.environ[DSN], corpus, arguments.queries, arguments.settings))


if __name__ == "__main__":
    main()
