"""stdin, stdout and stderr as every command may rely on them: all are open, and stderr fails nobody."""

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
"""How long a service waits for whoever reads its stderr, before a line is lost."""


class DiagnosticSink(io.RawIOBase):
    """Takes what goes to stderr; what its reader does not take is lost.

    A disk that is full or a reader that is gone is no reason to end a command. ``bound`` is for what serves: it may
    not stand still either because nobody reads.
    """

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
        """Tell whether so much as PIPE_BUF is taken at once; after one that was not, without waiting again."""
        if self._patience is None:
            return True
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        self._stuck = not poll.poll(0 if self._stuck else self._patience * 1000)
        return not self._stuck


def prepare_standard_streams() -> tuple[io.TextIOWrapper, io.TextIOWrapper]:
    """Return stdout and stderr, which are sys.stdout and sys.stderr from now on, in UTF-8 whatever the locale.

    A name that cannot be printed must not end a command. Descriptors that were closed lead to nowhere: what is opened
    next, a connection to the database perhaps, would get their number and what is written there.
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
    """From now on what goes to stderr is lost where nobody reads it, as in a pipe that is full."""
    sink = getattr(getattr(sys.stderr, "buffer", None), "raw", None)
    if isinstance(sink, DiagnosticSink):
        sink.bound(SERVICE_PATIENCE_SECONDS)
