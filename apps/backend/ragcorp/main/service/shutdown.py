"""The end of a service within its grace, whatever hangs: shares of the time, and the last resort."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

logger = logging.getLogger(__name__)

FINISHING_SHARE = 0.5
"""So much of the grace open requests and streams may take to end by themselves; then streams are told."""

CANCELLING_SHARE = 0.65
"""After so much of the grace what still runs is cancelled; the rest is for closing models, connections, database."""

WORD_SECONDS = 0.2


class Shutdown:
    """How a service ends. ``hurry`` cuts the grace short; from ``begin`` on the process ends within the grace.

    The block is all that must be closed in order. Where that does not come to its end in time, the process ends with
    code 1 as it is; the storage takes that as it takes a kill. Once the block is left, code 0: a thread that cannot be
    interrupted has nothing left to do that anyone waits for.
    """

    def __init__(self, grace_seconds: float) -> None:
        self.grace_seconds = grace_seconds
        self.hurried = asyncio.Event()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
        # from a thread of its own: the log itself may be what hangs
        word = threading.Thread(
            target=logger.critical,
            args=("the service did not end within SHUTDOWN_GRACE_SECONDS: the process ends as it is",),
            daemon=True,
        )
        word.start()
        word.join(WORD_SECONDS)
        os._exit(1)
