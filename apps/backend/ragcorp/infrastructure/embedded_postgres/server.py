"""Starts, recovers and stops the server of one cluster. All of it happens inside the launcher's critical section."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ragcorp.domain.exceptions import RagcorpError, StorageUnavailableError
from ragcorp.infrastructure.embedded_postgres import failures, locks
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.cluster import Cluster
from ragcorp.infrastructure.embedded_postgres.endpoint import Endpoint
from ragcorp.infrastructure.embedded_postgres.installation import Installation

_PROGRAM = "postgres"

_log = logging.getLogger(__name__)

_POLL_S = 0.02
_LEFTOVERS_GRACE_S = 3.0
_STOP_TIMEOUT_S = 60.0
_FULL_DISK_BYTES = 64 * 1024
_MAX_LOG_BYTES = 20 * 1024 * 1024
_MAX_LOG_AGE_S = 6 * 24 * 3600
# The shell ends at once, so the server is not our child: no zombie, and it survives our death.
_DETACH = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    cluster: Cluster
    lock: Path
    cluster_name: str

    def wait_for(self, *, deadline: float) -> Postmaster | None:
        """Return the ready postmaster, if one runs; wait while it starts or stops. Raises StorageUnavailableError."""
        while (postmaster := find_postmaster(self.cluster.pgdata)) is not None and postmaster.state != "ready":
            if time.monotonic() >= deadline:
                raise _not_in_time(postmaster.state)
            time.sleep(_POLL_S)
        return postmaster

    def clear(self, *, deadline: float) -> None:
        """Remove the processes and the pid file of a crashed server.

        A pid file is certainly stale only if the server lock is free. Raises StorageUnavailableError when processes of
        an earlier server do not end.
        """
        if not self._wait_until_free(_LEFTOVERS_GRACE_S):
            _kill_leftovers(self.cluster.pgdata, cluster_name=self.cluster_name)
            if not self._wait_until_free(max(2.0, deadline - time.monotonic())):
                raise StorageUnavailableError(
                    "Processes of an earlier server still use the data folder, and this process cannot see them.",
                    reason="leftover_processes",
                    field="data_dir",
                    remedy="End the other container or user session that uses this data folder, then start again.",
                )
        _pid_file(self.cluster.pgdata).unlink(missing_ok=True)

    def _wait_until_free(self, timeout_s: float) -> bool:
        return locks.wait_until(lambda: locks.is_free(self.lock), timeout_s=timeout_s)

    def start(
        self,
        *,
        installation: Installation,
        account: ServerAccount,
        endpoint: Endpoint,
        options: Sequence[str],
        secrets: Sequence[str],
        deadline: float,
    ) -> Postmaster:
        """Raises StorageUnavailableError or ConfigurationError with the reason that the server gave."""
        self._trim_logs()
        _remove_stale_sockets(endpoint)
        argv = ["/bin/sh", "-c", _DETACH, "sh", str(self.cluster.startup_log), installation.program("postgres")]
        argv += ["-D", str(self.cluster.pgdata), *options]
        with locks.server_lock(self.lock) as descriptor:
            _, output = account.run(argv, timeout_s=30, keep_open=[descriptor])
        pid = int(output.split()[0]) if output.strip().isdigit() else 0
        while True:
            postmaster = find_postmaster(self.cluster.pgdata)
            if postmaster is not None and postmaster.state == "ready":
                return postmaster
            if locks.is_free(self.lock):
                _reap(pid)
                raise self._failure(secrets)
            if time.monotonic() >= deadline:
                raise _not_in_time("starting")
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Shut down fast, as `pg_ctl stop -m fast`: end sessions, write everything. Does nothing when stopped."""
        postmaster = find_postmaster(self.cluster.pgdata)
        if postmaster is None:
            return
        with suppress(ProcessLookupError):
            os.kill(postmaster.pid, signal.SIGINT)
        if not locks.wait_until(self._is_stopped, timeout_s=_STOP_TIMEOUT_S):
            _log.warning("The embedded PostgreSQL is still writing its data to disk; it will stop by itself.")
            return
        _reap(postmaster.pid)
        if postmaster.endpoint.socket_dir is not None:
            with suppress(OSError):
                postmaster.endpoint.socket_dir.rmdir()

    def _is_stopped(self) -> bool:
        return find_postmaster(self.cluster.pgdata) is None and locks.is_free(self.lock)

    def _failure(self, secrets: Sequence[str]) -> RagcorpError:
        if failures.free_bytes(self.cluster.home) < _FULL_DISK_BYTES:
            return failures.disk_full()  # the log may be empty: there was no room for it either
        text = failures.read_tail(self.cluster.startup_log)
        if "redirecting log output" in text:
            text += "".join(failures.read_tail(path) for path in _by_age(self.cluster.log_dir)[-1:])
        return failures.explain(text, action="did not start", secrets=secrets)

    def _trim_logs(self) -> None:
        """Bound the logs. The server overwrites an old one only if it is running at midnight."""
        self.cluster.startup_log.unlink(missing_ok=True)
        for path in _by_age(self.cluster.log_dir):
            info = path.lstat()
            if info.st_size > _MAX_LOG_BYTES or time.time() - info.st_mtime > _MAX_LOG_AGE_S:
                path.unlink(missing_ok=True)


def latest_log(cluster: Cluster) -> Path | None:
    logs = _by_age(cluster.log_dir)
    if logs:
        return logs[-1]
    return cluster.startup_log if cluster.startup_log.exists() else None


def _by_age(log_dir: Path) -> list[Path]:
    return sorted(log_dir.glob("server-*.log"), key=lambda path: path.lstat().st_mtime)


def _remove_stale_sockets(endpoint: Endpoint) -> None:
    """Remove sockets of a crashed server. The folder is this cluster's alone, and no server of it runs."""
    if endpoint.socket_dir is not None:
        for leftover in endpoint.socket_dir.glob(".s.PGSQL.*"):
            leftover.unlink(missing_ok=True)


def _not_in_time(state: str) -> StorageUnavailableError:
    doing = "stopping" if state == "stopping" else "starting; after a crash it first replays its log"
    return StorageUnavailableError(
        f"The embedded PostgreSQL is still {doing}.",
        reason="starting",
        remedy="Wait and start again: the server continues by itself. Or allow a longer start time.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Postmaster:
    pid: int
    state: str
    """`starting`, `ready` or `stopping`."""
    endpoint: Endpoint


def _pid_file(pgdata: Path) -> Path:
    return pgdata / "postmaster.pid"


def find_postmaster(pgdata: Path) -> Postmaster | None:
    """Return the running postmaster of a cluster, no matter which process started it."""
    try:
        lines = _pid_file(pgdata).read_text(encoding="utf-8", errors="replace").splitlines()
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


def _kill_leftovers(pgdata: Path, *, cluster_name: str) -> None:
    """Kill server processes that outlived their postmaster; their shared memory is useless."""
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


def _reap(pid: int) -> None:
    """Collect the exit status if the process became our child: we may be process 1 of a container."""

    def is_collected() -> bool:
        try:
            return os.waitpid(pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True

    locks.wait_until(is_collected, timeout_s=1.0)
