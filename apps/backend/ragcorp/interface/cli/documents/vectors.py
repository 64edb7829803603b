"""Commands that store texts: they make vectors, read JSON lines and may be interrupted and run again."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ragcorp.application.upkeep.task_progress import Report
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.services import Session

MAX_FAILED_ROUNDS = 3
POLL_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 150.0
"""Longer than a lease: by then the share of a process that died is due again."""

STAYS = "What is stored stays; run the same command again to go on."


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorReport:
    """Vectors ``embedded`` by this process; passages still ``pending``, of which ``failed`` are not tried again."""

    embedded: int
    pending: int
    failed: int


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
