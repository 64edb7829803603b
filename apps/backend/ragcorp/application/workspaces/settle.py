"""Use case: complete the vectors and statistics of a workspace."""

import asyncio

from ragcorp.application.upkeep.task_progress import Progress, Report, no_progress
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ports.use_cases import BacklogEmbedding
from ragcorp.domain.ports.workspaces import Workspaces
from ragcorp.domain.principal import Principal

MAX_FAILED_ROUNDS = 3
POLL_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 150.0
"""Longer than a lease: entries that a dead process claimed are available again by then."""


class SettleWorkspace:
    """Makes the missing vectors, then refreshes the statistics. ``embed_pending`` is None without a model."""

    def __init__(self, *, embed_pending: BacklogEmbedding | None, workspaces: Workspaces) -> None:
        self._embed_pending = embed_pending
        self._workspaces = workspaces

    async def settle(self, *, principal: Principal, progress: Progress = no_progress) -> None:
        """Return when all chunks have vectors and statistics. Raises EmbedderUnavailableError."""
        if self._embed_pending is not None:
            with progress("Making vectors", "passages") as report:
                await self._embed(self._embed_pending, principal.workspace, report)
        await self._workspaces.refresh_statistics(principal.workspace)

    async def _embed(self, embed_pending: BacklogEmbedding, workspace: str, report: Report) -> None:
        total = (await embed_pending.counts(workspace=workspace)).pending
        failed_rounds = 0
        waited = 0.0
        while True:
            done = await embed_pending.embed(workspace=workspace)
            pending = (await embed_pending.counts(workspace=workspace)).pending
            report(total - pending, total)
            if not pending:
                return
            failed_rounds = 0 if done.embedded else failed_rounds + bool(done.failed)
            if failed_rounds >= MAX_FAILED_ROUNDS or waited >= LONGEST_WAIT_SECONDS:
                raise EmbedderUnavailableError(
                    "The embedding model does not give every passage its vector.",
                    remedy="`ragcorp doctor` tells more; vectors that were made are kept for the next run.",
                )
            if not done.embedded:
                # a retry is scheduled, or another process has claimed the rest
                await asyncio.sleep(POLL_SECONDS)
                waited += POLL_SECONDS
