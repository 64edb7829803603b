"""Drives the processes of the variants, and counts the CPU of the server's backends (Linux)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.corpus import Query
from benchmarks.side_by_side.variant import Kind

REQUIREMENTS = Path(__file__).with_name("requirements.txt")


class ServerCpu:
    """CPU of the backends of one database, and of the server's processes that have ended (parallel workers)."""

    def __init__(self, dsn: str) -> None:
        with psycopg.connect(dsn) as connection:
            backend = Path(f"/proc/{connection.info.backend_pid}/stat").read_text()
            self._name = f" {connection.info.dbname} ".encode()
        self._parent = int(backend.rpartition(")")[2].split()[1])
        self._tick = 1000 / os.sysconf("SC_CLK_TCK")
        self._counted: dict[str, bool] = {}

    def milliseconds(self) -> float:
        ended = Path(f"/proc/{self._parent}/stat").read_text().rpartition(")")[2].split()[13:15]
        children = Path(f"/proc/{self._parent}/task/{self._parent}/children").read_text().split()
        return sum(map(self._of_one, children)) + sum(map(int, ended)) * self._tick

    def _of_one(self, pid: str) -> float:
        try:
            if pid not in self._counted:
                self._counted[pid] = self._name in Path(f"/proc/{pid}/cmdline").read_bytes()
            return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6 if self._counted[pid] else 0.0
        except FileNotFoundError:  # it has just ended
            return 0.0


class Process:
    """The process of one variant. ``missing`` is None, or why it cannot run."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.missing: str | None = None

    def request(self, **content: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(content) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"A variant ended: {' '.join(map(str, self._process.args))}")
        return json.loads(line)


@contextmanager
def started(
    kind: Kind, *, python: str, dsn: str, queries: Sequence[Query], options: Mapping[str, Any]
) -> Iterator[Process]:
    """Start the variant's process, fill its table where it has one of its own, and wait until it is open."""
    with subprocess.Popen(
        [python, "-m", "benchmarks.side_by_side.worker", kind.module],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        process = Process(running)
        questions = [{"text": query.text, "vector": query.vector} for query in queries]
        reply = process.request(dsn=dsn, questions=questions, options=dict(options), prepare=kind.foreign)
        process.missing = reply.get("missing")
        yield process


def libraries_python(folder: Path) -> str:
    """Return the interpreter of the virtual environment there; make it, with the pinned libraries, unless it is."""
    python = folder / "bin" / "python"
    wanted = REQUIREMENTS.read_text()
    mark = folder / "installed.txt"
    if not mark.is_file() or mark.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(REQUIREMENTS)]
        if subprocess.run(install, check=False).returncode == 0:
            mark.write_text(wanted)
    return str(python)
