"""Works off the backlog of missing vectors, also while other processes do."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.interface.cli.console.progress import Report
from ragcorp.interface.cli.console.services import Session

MAX_FAILED_ROUNDS = 3
POLL_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 150.0
"""Longer than a lease: the share of a process that died has come back by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorReport:
    """``embedded`` by this process; ``failed`` of the ``pending`` were given up."""

    embedded: int
    pending: int
    failed: int


async def make_vectors(session: Session, report: Report) -> VectorReport:
    """Make vectors until no passage is due. A service on the same database shares the work by leases.

    Raises EmbedderUnavailableError when the model fails round after round; what is made is kept.
    """
    await session.embed_pending.enqueue_missing()
    total = (await session.embed_pending.counts()).pending
    embedded = failed_rounds = 0
    waiting_since: float | None = None
    last_pending = total
    while True:
        done = await session.embed_pending.embed()
        embedded += done.embedded
        failed_rounds = 0 if done.embedded else failed_rounds + (done.failed > 0)
        if failed_rounds >= MAX_FAILED_ROUNDS:
            raise EmbedderUnavailableError(
                "The embedding model gives no vectors; the passages are found by text meanwhile.",
                remedy="`ragcorp doctor` tells more; `ragcorp embed --pending` goes on from here.",
            )
        counts = await session.embed_pending.counts()
        total = max(total, counts.pending)
        report(total - counts.pending, total)
        if counts.pending == counts.failed:
            return VectorReport(embedded=embedded, pending=counts.pending, failed=counts.failed)
        if not done.idle or counts.pending != last_pending:
            waiting_since, last_pending = None, counts.pending
            if not done.idle:
                continue
        # another process works on the rest, or a failed batch waits for its retry
        now = time.monotonic()
        waiting_since = waiting_since or now
        if now - waiting_since > LONGEST_WAIT_SECONDS:
            return VectorReport(embedded=embedded, pending=counts.pending, failed=counts.failed)
        await asyncio.sleep(POLL_SECONDS)
