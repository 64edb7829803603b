"""Ends the service within its grace period, whatever hangs."""

import asyncio
import logging
import os
import sys
import threading
from contextlib import suppress
from typing import Self

logger = logging.getLogger(__name__)

FINISHING_SHARE = 0.5
"""Share of the grace in which open requests and streams may end by themselves; then streams are ended."""

CANCELLING_SHARE = 0.65
"""Share of the grace after which running work is cancelled; the rest is for closing models and the database."""

LOG_SECONDS = 0.2


class Shutdown:
    """The end of a service. ``hurry`` cuts the grace short; after ``begin`` the process ends within the grace.

    The block contains everything that must be closed in order. If it is still open then, the exit code is 1; if only an
    uninterruptible thread is left, 0.
    """

    def __init__(self, grace_seconds: float) -> None:
        self.grace_seconds = grace_seconds
        self.hurried = asyncio.Event()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True

    def hurry(self) -> None:
        self.hurried.set()

    def begin(self) -> None:
        timer = threading.Timer(self.grace_seconds, self._end_the_process)
        timer.daemon = True
        timer.start()

    def _end_the_process(self) -> None:
        if self._closed:
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(0)
        # in another thread: the log itself may hang
        last_line = threading.Thread(
            target=logger.critical,
            args=("the service did not end within SHUTDOWN_GRACE_SECONDS: the process ends as it is",),
            daemon=True,
        )
        last_line.start()
        last_line.join(LOG_SECONDS)
        os._exit(1)
