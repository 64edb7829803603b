"""Prepares stdin, stdout and stderr: all three are open, and writing to stderr never fails."""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

STDOUT, STDERR = 1, 2

SERVICE_PATIENCE_SECONDS = 0.2
"""How long a service waits for the reader of its stderr before it drops a line."""


class DiagnosticSink(io.RawIOBase):
    """Writes to stderr and drops what cannot be written; ``bound`` limits the wait for a slow reader."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._patience: float | None = None
        self._stuck = False

    def bound(self, seconds: float) -> None:
        self._patience = seconds

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Buffer, /) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        with suppress(OSError):
            while rest and self._takes():
                rest = rest[os.write(self._descriptor, rest[: select.PIPE_BUF]) :]
        return size

    def _takes(self) -> bool:
        """Return whether PIPE_BUF bytes can be written. After one failed wait it does not wait again."""
        if self._patience is None:
            return True
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        self._stuck = not poll.poll(0 if self._stuck else self._patience * 1000)
        return not self._stuck


def prepare_standard_streams() -> tuple[io.TextIOWrapper, io.TextIOWrapper]:
    """Set sys.stdout and sys.stderr to UTF-8 whatever the locale, and return them.

    Closed descriptors are opened on the null device: otherwise the next file would get their numbers.
    """
    for descriptor in range(STDERR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    stdout = sys.stdout
    if not isinstance(stdout, io.TextIOWrapper):
        stdout = open(STDOUT, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.flush()
    stderr = io.TextIOWrapper(
        io.BufferedWriter(DiagnosticSink(STDERR)), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
    sys.stdout, sys.stderr = stdout, stderr
    return stdout, stderr


def wait_for_no_reader() -> None:
    """Drop output to stderr from now on when nobody reads it, as in a full pipe."""
    sink = getattr(getattr(sys.stderr, "buffer", None), "raw", None)
    if isinstance(sink, DiagnosticSink):
        sink.bound(SERVICE_PATIENCE_SECONDS)
