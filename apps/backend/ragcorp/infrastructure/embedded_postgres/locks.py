"""Three lock files carry all coordination between processes; the kernel drops each lock when its holder dies.

- ``launcher.lock`` (exclusive): held while a process initialises, starts, joins or stops. Its text is the holder's pid.
- ``users.lock`` (shared): held by every process that uses the server. A process that leaves and then gets it
  exclusively was the last one.
- ``server.lock`` (exclusive): inherited by the postmaster and all its children, so it is free only when no server
  process is left. A pid file cannot show that: pids are recycled, and children can outlive the postmaster.

These are flock locks: they belong to the open file, so a forked child that shares it counts as a holder.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragcorp.domain.exceptions import StorageUnavailableError

_POLL_S = 0.02


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _try_lock(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_until(condition: Callable[[], bool], *, timeout_s: float) -> bool:
    """Poll until the condition is true; return False after ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_S)
    return True


@contextmanager
def critical_section(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Raises StorageUnavailableError when another process keeps the lock for longer than ``timeout_s``."""
    descriptor = _open(path)
    try:
        if not wait_until(lambda: _try_lock(descriptor, fcntl.LOCK_EX), timeout_s=timeout_s):
            raise _lock_taken(descriptor, timeout_s)
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _lock_taken(descriptor: int, timeout_s: float) -> StorageUnavailableError:
    holder = os.pread(descriptor, 20, 0).decode("ascii", errors="replace").strip()
    who = f"Another program (process {holder})" if holder.isdigit() else "Another program"
    return StorageUnavailableError(
        f"{who} has held the lock of the data folder for more than {timeout_s:g} s.",
        reason="lock_taken",
        field="data_dir",
        remedy="Wait until it has started or stopped its server, or end that program, and try again.",
    )


class UsersLock:
    """Marks this process as a user of the server. Call it inside the critical section only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def join(self, *, timeout_s: float) -> None:
        """Raises StorageUnavailableError if another program has locked the file exclusively."""
        if self._descriptor is not None:
            return
        descriptor = _open(self._path)
        if not wait_until(lambda: _try_lock(descriptor, fcntl.LOCK_SH), timeout_s=timeout_s):
            os.close(descriptor)
            raise StorageUnavailableError(
                "Another program holds the user lock of the data folder.",
                reason="lock_taken",
                field="data_dir",
                remedy="End that program and try again.",
            )
        self._descriptor = descriptor

    def leave(self) -> None:
        """Closes without unlocking: a forked child that shares the open file stays a user."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def leave_as_last(self) -> bool:
        """Leave, and return whether no other process uses the server."""
        self.leave()
        return is_free(self._path)

    def alone(self) -> bool:
        """Return whether this process is the only user. Keeps its mark."""
        last = self.leave_as_last()
        self.join(timeout_s=1)
        return last


def is_free(path: Path) -> bool:
    """Return whether no process has the lock at this moment. Creates nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        return _try_lock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


@contextmanager
def server_lock(path: Path) -> Iterator[int]:
    """Lock, and yield the descriptor that the server inherits; closing ours keeps the lock. Raises BlockingIOError."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield descriptor
    finally:
        os.close(descriptor)
