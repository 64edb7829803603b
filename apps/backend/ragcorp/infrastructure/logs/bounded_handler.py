"""Log lines through a bounded queue: a blocked sink costs lines, but never blocks the service."""

import logging
import os
import queue
import sys
import time
from contextlib import suppress
from logging.handlers import QueueHandler, QueueListener
from typing import TextIO

CAPACITY = 10_000
"""Lines that may wait for the sink."""


class BoundedHandler(QueueHandler):
    """Formats a record where it was logged and writes it from a thread. Lines that do not fit are dropped and counted.

    It writes to the current sys.stderr: a progress bar puts its own stream there and stays below the lines.
    """

    def __init__(self, *, capacity: int = CAPACITY, stream: TextIO | None = None) -> None:
        self._waiting: queue.Queue[logging.LogRecord] = queue.Queue(capacity)
        super().__init__(self._waiting)
        self._undelivered = 0
        self._writer = _Writer(self._waiting, stream)
        self._writer.start()

    @property
    def dropped(self) -> int:
        """Lines that could not be formatted, did not fit or could not be written."""
        return self._undelivered + self._writer.failed

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, ARG002 - logging's name
        self._undelivered += 1

    def drain(self, seconds: float) -> None:
        """Wait until all lines are written, at most ``seconds``."""
        until = time.monotonic() + seconds
        while self._waiting.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.005)

    def end(self, seconds: float) -> None:
        """Write the waiting lines, for at most ``seconds``. Does not wait for a write that hangs."""
        self.drain(seconds)
        with suppress(queue.Full):
            self._writer.enqueue_sentinel()
        self.close()


class _Writer(QueueListener):
    """Writes formatted records to ``stream``, or to the current sys.stderr. Its thread is a daemon."""

    def __init__(self, waiting: queue.Queue[logging.LogRecord], stream: TextIO | None) -> None:
        super().__init__(waiting)
        self.failed = 0
        self._stream = stream
        self._usual = stream or sys.stderr

    def handle(self, record: logging.LogRecord) -> None:
        try:
            self._write(record.message)
        except (OSError, ValueError):  # the sink is gone
            self.failed += 1

    def _write(self, line: str) -> None:
        stream = self._stream or sys.stderr
        if stream is not self._usual or (descriptor := _descriptor(stream)) is None:
            stream.write(f"{line}\n")
            stream.flush()
            return
        # Bypasses the stream's buffer: a write that hangs would hold its lock and block every other writer.
        rest = f"{line}\n".encode("utf-8", "backslashreplace")
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None
