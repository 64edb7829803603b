"""Folders, client processes and signals for the tests of the launcher."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from ragcorp.infrastructure.embedded_postgres import EmbeddedPostgres, EmbeddedStatus, status
from ragcorp.infrastructure.embedded_postgres.data_folder import DataFolder
from support.storage.places import memory_folder

BACKEND = Path(__file__).resolve().parents[3]
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


class Client:
    """Another process that uses the server, in a process group of its own as at a terminal."""

    def __init__(self, place: Place) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CLIENT, str(place.data), str(place.system)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(BACKEND), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,
        )

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


class Folder:
    """A folder that every user may pass through; at the end no server is left in it."""

    def __enter__(self) -> Place:
        self._root = Path(tempfile.mkdtemp(prefix="rc-", dir=memory_folder()))
        self._root.chmod(0o755)
        return Place(root=self._root)

    def __exit__(self, *_: object) -> None:
        for postmaster in self._root.rglob("postmaster.pid"):
            self._stop(int(postmaster.read_text().split()[0]))
        sockets = f"ragcorp-{os.geteuid()}-{DataFolder(self._root / 'data').key}"
        for folder in (self._root, Path(tempfile.gettempdir(), sockets)):
            shutil.rmtree(folder, ignore_errors=True)

    def _stop(self, pid: int) -> None:
        """An immediate shutdown: unlike a kill it gives shared memory back."""
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.name() == "postgres" and process.cwd().startswith(f"{self._root}/"):
                process.send_signal(signal.SIGQUIT)
                until(lambda: not alive(pid))


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
        time.sleep(0.002)
