"""Commands that load JSON lines."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from ragcorp.application.validation.json_lines import LinesDone, LoadReport
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import EXIT_FAILED, Output, error_document
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.cli.documents.vectors import embed_with_progress, resumable
from ragcorp.interface.line_files import lines_of, opened_lines

MAX_SHOWN_FAILURES = 50

StoreLines = Callable[[Iterable[bytes], LinesDone], Awaitable[LoadReport]]


async def load_lines(
    call: Call, session: Session, file: str, task: str, store: StoreLines, *, no_embed: bool, rest: str = ""
) -> LoadReport:
    """Store the JSON lines of a file, or of stdin (``-``), report the first bad lines, and make the vectors.

    ``rest`` says where the other bad lines are. Raises MissingFileError or InvalidInputError.
    """
    with resumable(call):
        done = await _store(call, file, task, store)
        for failure in done.failures[:MAX_SHOWN_FAILURES]:
            call.output.failure(f"line {failure.line}", failure.error, field=failure.error.field)
        if done.failed > MAX_SHOWN_FAILURES:
            call.output.note(f"and {done.failed - MAX_SHOWN_FAILURES:,} more bad lines{rest}")
        await embed_with_progress(call, session, no_embed=no_embed)
    return done


async def _store(call: Call, file: str, task: str, store: StoreLines) -> LoadReport:
    with call.progress(task, "lines") as report:
        if file == "-":
            return await store(lines_of(sys.stdin.buffer), lambda count: report(count, count))
        with opened_lines(Path(file)) as stream:
            total = await asyncio.to_thread(lambda: sum(1 for _ in lines_of(stream)))
            stream.seek(0)
            return await store(lines_of(stream), lambda count: report(count, total))


def write_totals(output: Output, done: LoadReport, *, lines: int | None = None, **more: object) -> int:
    """Write the counts as a table of one row, with --json also the bad lines and ``more``; return the exit code."""
    counts = {} if lines is None else {"lines": lines}
    counts |= {"created": done.created, "updated": done.updated, "unchanged": done.unchanged, "failed": done.failed}
    bad = [{"line": failure.line, "error": error_document(failure.error)} for failure in done.failures]
    output.table({**counts, "failures": bad, **more}, tuple(counts), [counts.values()])
    return EXIT_FAILED if done.failed else 0
