"""Commands that load JSON lines."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ragcorp.application.validation.json_lines import LineFailure, LinesDone
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import Output, error_document
from ragcorp.interface.line_files import lines_of, opened_lines

MAX_SHOWN_FAILURES = 50

Stored = TypeVar("Stored")


async def store_lines(
    call: Call, file: str, task: str, store: Callable[[Iterable[bytes], LinesDone], Awaitable[Stored]]
) -> Stored:
    """Store the JSON lines of a file, or of stdin (``-``). Raises MissingFileError or InvalidInputError."""
    with call.progress(task, "lines") as report:
        if file == "-":
            return await store(lines_of(sys.stdin.buffer), lambda count: report(count, count))
        with opened_lines(Path(file)) as stream:
            total = await asyncio.to_thread(lambda: sum(1 for _ in lines_of(stream)))
            stream.seek(0)
            return await store(lines_of(stream), lambda count: report(count, total))


def print_line_failures(output: Output, failures: Sequence[LineFailure], *, count: int, rest: str = "") -> None:
    """Write the first of ``count`` bad lines to stderr; ``rest`` says where the others are."""
    for failure in failures[:MAX_SHOWN_FAILURES]:
        output.failure(f"line {failure.line}", failure.error, field=failure.error.field)
    if count > MAX_SHOWN_FAILURES:
        output.note(f"and {count - MAX_SHOWN_FAILURES:,} more bad lines{rest}")


def write_totals(output: Output, totals: Mapping[str, int], failures: Sequence[LineFailure], **more: object) -> None:
    """Write the totals as a table of one row; with --json also the bad lines and ``more``."""
    bad = [{"line": failure.line, "error": error_document(failure.error)} for failure in failures]
    output.table({**totals, "failures": bad, **more}, tuple(totals), [totals.values()])
