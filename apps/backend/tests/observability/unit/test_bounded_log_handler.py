"""The log's thread: nothing is lost in good times, and a sink that blocks stops nobody."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from io import StringIO
from typing import TextIO

import pytest

from ragcorp.infrastructure.logs.bounded_handler import BoundedHandler

STUCK = """
import logging, os
from ragcorp.infrastructure.logs.bounded_handler import BoundedHandler
handler = BoundedHandler(capacity=100)
logger = logging.getLogger("ragcorp.x")
logger.propagate = False
logger.addHandler(handler)
for number in range(2000):
    logger.warning("x" * 1000)
os.write(1, f"{handler.dropped > 1000} {handler.dropped < 2000}\\n".encode())
handler.end(0.2)
"""


def logger_of(handler: BoundedHandler) -> logging.Logger:
    made = logging.Logger("ragcorp.x")  # noqa: LOG001 - of no concern to other tests
    made.addHandler(handler)
    return made


def test_all_is_written_in_order_by_the_end() -> None:
    sink = StringIO()
    handler = BoundedHandler(stream=sink)
    logger = logger_of(handler)
    for number in range(500):
        logger.warning("%d", number)
    handler.end(30)
    assert sink.getvalue().split() == [str(number) for number in range(500)]
    assert handler.dropped == 0


def test_what_cannot_be_formatted_fails_nobody() -> None:
    handler = BoundedHandler(stream=StringIO())
    logger_of(handler).warning("%d", "no number")
    handler.end(30)
    assert handler.dropped == 1


def test_a_sink_that_is_gone_is_counted() -> None:
    class Gone(StringIO):
        def write(self, _: str, /) -> int:
            raise BrokenPipeError

    handler = BoundedHandler(stream=Gone())
    logger_of(handler).warning("a")
    handler.drain(30)
    handler.end(30)
    assert handler.dropped == 1


def test_whoever_takes_the_place_of_stderr_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = BoundedHandler()
    logger = logger_of(handler)
    for expected in ("first", "second"):
        stream: TextIO = StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        logger.warning(expected)
        handler.drain(30)
        assert isinstance(stream, StringIO)
        assert stream.getvalue() == f"{expected}\n"
    handler.end(30)


def test_a_full_pipe_blocks_neither_the_service_nor_its_end() -> None:
    reading, writing = os.pipe()  # nobody reads
    try:
        ended = subprocess.run(
            [sys.executable, "-c", STUCK],
            stdout=subprocess.PIPE,
            stderr=writing,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert ended.returncode == 0
    assert ended.stdout == b"True True\n"


def test_the_wait_for_the_sink_has_an_end() -> None:
    class Slow(StringIO):
        def write(self, _: str, /) -> int:
            time.sleep(3600)
            return 0

    handler = BoundedHandler(stream=Slow())
    logger_of(handler).warning("a")
    handler.end(0.05)
