"""Commands that store texts: they make vectors, read JSON lines and may be interrupted and run again."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from ragcorp.application.upkeep.task_progress import Report
from ragcorp.application.validation.json_lines import LineFailure, LinesDone
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import Output, error_document
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.line_files import lines_of, opened_lines

MAX_FAILED_ROUNDS = 3
POLL_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 150.0
"""Longer than a lease: by then the share of a process that died is due again."""

MAX_SHOWN_FAILURES = 50
STAYS = "What is stored stays; run the same command again to go on."

Stored = TypeVar("Stored")


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorReport:
    """Vectors ``embedded`` by this process; passages still ``pending``, of which ``failed`` are not tried again."""

    embedded: int
    pending: int
    failed: int

    def document(self) -> dict[str, object]:
        return asdict(self)


async def make_vectors(session: Session, report: Report) -> VectorReport:
    """Make vectors until no passage is due. A service on the same database shares the work by leases.

    Raises EmbedderUnavailableError if the model fails in MAX_FAILED_ROUNDS rounds; the vectors made so far are kept.
    """
    backlog = session.use_cases.embed_pending
    await backlog.enqueue_missing()
    total = (await backlog.counts()).pending
    embedded = failed_rounds = 0
    waiting_since: float | None = None
    last_pending = total
    while True:
        done = await backlog.embed()
        embedded += done.embedded
        failed_rounds = 0 if done.embedded else failed_rounds + (done.failed > 0)
        if failed_rounds >= MAX_FAILED_ROUNDS:
            raise EmbedderUnavailableError(
                "The embedding model gives no vectors; the passages are found by text meanwhile.",
                remedy="`ragcorp doctor` tells more; `ragcorp embed --pending` goes on from here.",
            )
        counts = await backlog.counts()
        total = max(total, counts.pending)
        report(total - counts.pending, total)
        if counts.pending == counts.failed:
            break
        if not done.idle or counts.pending != last_pending:
            waiting_since, last_pending = None, counts.pending
            if not done.idle:
                continue
        # another process leases the rest, or a failed passage waits for its next attempt
        now = time.monotonic()
        waiting_since = waiting_since or now
        if now - waiting_since > LONGEST_WAIT_SECONDS:
            break
        await asyncio.sleep(POLL_SECONDS)
    return VectorReport(embedded=embedded, pending=counts.pending, failed=counts.failed)


async def embed_with_progress(call: Call, session: Session, *, no_embed: bool = False) -> VectorReport | None:
    """Make all vectors that are due, unless there is no model or another process is to make them."""
    if no_embed or not session.makes_vectors:
        return None
    with call.progress("Making vectors", "passages") as report:
        return await make_vectors(session, report)


async def embed_batch(session: Session, *, no_embed: bool) -> None:
    """Make one batch of the vectors that are due, unless there is no model or another process is to make them."""
    if session.makes_vectors and not no_embed:
        await session.use_cases.embed_pending.embed()


@contextmanager
def resumable(call: Call, note: str = STAYS) -> Iterator[None]:
    """Say on an interruption that the command goes on when it is started again."""
    try:
        yield
    except asyncio.CancelledError:
        call.output.note(note)
        raise


async def store_lines(
    call: Call,
    file: str,
    task: str,
    store: Callable[[Iterable[bytes], LinesDone], Awaitable[Stored]],
) -> Stored:
    """Store the JSON lines of a file, or of stdin for ``-``, with a progress bar.

    Raises MissingFileError or InvalidInputError.
    """
    with call.progress(task, "lines") as report:
        if file == "-":
            return await store(lines_of(sys.stdin.buffer), lambda count: report(count, count))
        with opened_lines(Path(file)) as stream:
            total = await asyncio.to_thread(lambda: sum(1 for _ in lines_of(stream)))
            stream.seek(0)
            return await store(lines_of(stream), lambda count: report(count, total))


def print_line_failures(output: Output, failures: Sequence[LineFailure], *, count: int, rest: str = "") -> None:
    """Print the first of ``count`` bad lines; ``rest`` says where the others are."""
    for failure in failures[:MAX_SHOWN_FAILURES]:
        output.failure(f"line {failure.line}", failure.error, field=failure.error.field)
    if count > MAX_SHOWN_FAILURES:
        output.note(f"and {count - MAX_SHOWN_FAILURES:,} more bad lines{rest}")


def line_failure_documents(failures: Sequence[LineFailure]) -> list[dict[str, object]]:
    return [{"line": failure.line, "error": error_document(failure.error)} for failure in failures]
