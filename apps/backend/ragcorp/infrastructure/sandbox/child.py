"""The child's side: does one piece of work after another until its pipe closes."""

import logging
import os
import sys
from dataclasses import replace
from typing import Any

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.infrastructure.sandbox.confinement import OUT_OF_MEMORY, allow_cpu, confine, resident_bytes
from ragcorp.infrastructure.sandbox.messages import Answer, Record, crashed, read_message, refusal, write_message

MOST_WORKS = 200
MOST_GROWTH = 192 << 20
"""Bytes of memory that a library may keep before the child is replaced."""


class _Records(logging.Handler):
    """Collects what is logged, for the service to log."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.records: list[Record] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append((record.name, record.levelno, self.format(record)))


def serve(subject: object, *, parent: int, memory_bytes: int, most_growth: int = MOST_GROWTH) -> None:
    """Answer calls ``(work, arguments, CPU seconds)`` with ``work(subject, *arguments)``.

    ``most_growth``: bytes of memory that may stay in use.
    """
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    handler = _Records()
    handler.setFormatter(logging.Formatter())
    logging.basicConfig(handlers=[handler])
    confine(parent=parent, memory_bytes=memory_bytes)
    floor = resident_bytes()
    write_message(answers, Answer())  # ready
    for number in range(1, MOST_WORKS + 1):
        call = read_message(calls)
        if call is None:
            return
        answer = _answer(subject, *call)
        last = number == MOST_WORKS or resident_bytes() - floor > most_growth
        write_message(answers, replace(answer, records=tuple(handler.records), last=last))
        del call, answer
        handler.records.clear()
        if last:
            return


def _answer(subject: object, work: Any, arguments: Any, seconds: float) -> Answer:
    allow_cpu(seconds)
    try:
        return Answer(value=work(subject, *arguments))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except RagcorpError as error:
        return Answer(error=refusal(error))
    except Exception:
        logging.getLogger(__name__).exception("a file could not be read")
        return Answer(error=refusal(crashed()))
