"""Use case: complete the vectors and statistics of a workspace."""

import asyncio
from dataclasses import dataclass

from ragcorp.application.upkeep.task_progress import Progress, Report, no_progress
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ports.use_cases import BacklogEmbedding
from ragcorp.domain.ports.workspaces import Workspaces
from ragcorp.domain.principal import Principal

MAX_FAILED_ROUNDS = 3
POLL_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 150.0
"""Longer than a lease: entries that a dead process claimed are available again by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleWorkspace:
    """Makes the missing vectors, then refreshes the statistics. ``embed_pending`` is None without a model."""

    embed_pending: BacklogEmbedding | None
    workspaces: Workspaces

    async def settle(self, *, principal: Principal, progress: Progress = no_progress) -> None:
        """Return when all chunks have vectors and statistics. Raises EmbedderUnavailableError."""
        if self.embed_pending is not None:
            with progress("Making vectors", "passages") as report:
                await self._embed(self.embed_pending, principal.workspace, report)
        await self.workspaces.refresh_statistics(principal.workspace)

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
