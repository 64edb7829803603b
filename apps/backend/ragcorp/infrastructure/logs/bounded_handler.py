"""Writes log lines from a thread of its own: a sink that blocks costs lines, never the service."""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import time
from typing import TextIO

CAPACITY = 10_000
"""Lines that may wait for the sink."""


class BoundedHandler(logging.Handler):
    """Formats where the line was logged, and leaves it to a thread. Lines that find no room are dropped and counted.

    It writes to what sys.stderr is at that moment: a progress bar puts its own stream there and stays below.
    """

    def __init__(self, *, capacity: int = CAPACITY, stream: TextIO | None = None) -> None:
        super().__init__()
        self.dropped = 0
        self._stream = stream
        self._usual = stream or sys.stderr
        self._lines: queue.Queue[str] = queue.Queue(capacity)
        self._closing = threading.Event()
        # a daemon: one that hangs in a write must not hold up the end of the process
        self._thread = threading.Thread(target=self._run, name="log lines", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception:  # noqa: BLE001 - what cannot be shown is no reason to fail what was logged
            self.dropped += 1
            return
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def drain(self, seconds: float) -> None:
        """Wait until all is written, but no longer than so many seconds."""
        until = time.monotonic() + seconds
        while self._lines.unfinished_tasks and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.005)

    def end(self, seconds: float) -> None:
        """Write what waits, for so many seconds at most; what is logged later is dropped."""
        self.drain(seconds)
        self._closing.set()
        self.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                line = self._lines.get(timeout=0.5)
            except queue.Empty:
                continue
            try:
                self._write(line)
            except (OSError, ValueError):  # the sink is gone
                self.dropped += 1
            finally:
                self._lines.task_done()

    def _write(self, line: str) -> None:
        stream = self._stream or sys.stderr
        if stream is not self._usual or (descriptor := _descriptor(stream)) is None:
            stream.write(f"{line}\n")
            stream.flush()
            return
        # past the stream's buffer: its lock, held in a write that hangs, would hang whoever else writes there
        rest = f"{line}\n".encode("utf-8", "backslashreplace")
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None
