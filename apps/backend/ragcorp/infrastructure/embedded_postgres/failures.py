"""Turns errors of the operating system and the server's log into errors with a remedy."""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ragcorp.domain.exceptions import ConfigurationError, RagcorpError, StorageUnavailableError

_TAIL_BYTES = 16_384
_MAX_REASON_LENGTH = 300
_SEVERE = re.compile(r"\b(?:PANIC|FATAL|ERROR|initdb: error|could not)\b")
_LINE_PREFIX = re.compile(r"^.*?\b(?:PANIC|FATAL|ERROR|LOG|error):\s+")
_ABSOLUTE_PATH = re.compile(r"(?<![\w/])/[^\s\"',;]+")
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
_BAD_SETTING = ("unrecognized configuration parameter", "invalid value for parameter", "is outside the valid range")


def free_bytes(folder: Path) -> int:
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize


def disk_full() -> StorageUnavailableError:
    return StorageUnavailableError(
        "The disk of the data folder is full.",
        reason="disk_full",
        field="data_dir",
        remedy="Free some space, or choose a data folder on another disk, and start again.",
    )


@contextmanager
def os_errors_translated() -> Iterator[None]:
    """Raises ConfigurationError or StorageUnavailableError in place of an OSError."""
    try:
        yield
    except OSError as error:
        raise _from_os_error(error) from error


def _from_os_error(error: OSError) -> RagcorpError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full()
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ConfigurationError(
            "The embedded PostgreSQL may not write to its folders, or may not run as its system user.",
            field="data_dir",
            remedy="Give this user a writable data folder, or set DATABASE_URL to a server of your own.",
        )
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return StorageUnavailableError(
        f"The embedded PostgreSQL cannot work with its data folder: {reason}.",
        field="data_dir",
        remedy="Check the disk and the data folder with: ragcorp doctor",
    )


def explain(log_text: str, *, action: str, secrets: Iterable[str] = ()) -> RagcorpError:
    """Return the error for a failed server program, from its output without passwords and host paths."""
    if any(sign in log_text for sign in _DISK_FULL):
        return disk_full()
    reason = _reason(log_text, secrets)
    if any(sign in log_text for sign in _BAD_SETTING):
        return ConfigurationError(
            f"The embedded PostgreSQL refuses one of its settings: {reason}",
            field="settings",
            remedy="Correct that setting and start again.",
        )
    return StorageUnavailableError(
        f"The embedded PostgreSQL {action}: {reason}",
        reason="start_failed",
        remedy="See the full log; `ragcorp doctor` shows its path.",
    )


def _reason(log_text: str, secrets: Iterable[str]) -> str:
    lines = [line.strip() for line in log_text.splitlines() if line.strip()]
    severe = [line for line in lines if _SEVERE.search(line)]
    reason = _LINE_PREFIX.sub("", (severe or lines or ["it wrote no reason."])[-1])
    for secret in secrets:
        reason = reason.replace(secret, "***")
    return _ABSOLUTE_PATH.sub("<path>", reason)[:_MAX_REASON_LENGTH]


def read_tail(path: Path) -> str:
    """Return the end of a log; empty if there is none. Follows no symlink: another system user owns the folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return ""
        os.lseek(descriptor, max(0, info.st_size - _TAIL_BYTES), os.SEEK_SET)
        return os.read(descriptor, _TAIL_BYTES).decode("utf-8", errors="replace")
    finally:
        os.close(descriptor)
