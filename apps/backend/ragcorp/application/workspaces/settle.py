"""Use case: see to it that searches of a workspace miss nothing."""

from __future__ import annotations

import asyncio

from ragcorp.application.upkeep.task_progress import Progress, Report, no_progress
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ports.use_cases import BacklogEmbedding
from ragcorp.domain.ports.workspaces import Workspaces
from ragcorp.domain.principal import Principal

MAX_FAILED_ROUNDS = 3
POLL_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 150.0
"""Longer than a lease: a share that another process took and lost has come back by then."""


class SettleWorkspace:
    """Makes the vectors that are missing, then refreshes the statistics.

    ``embed_pending`` is None where no model is configured.
    """

    def __init__(self, *, embed_pending: BacklogEmbedding | None, workspaces: Workspaces) -> None:
        self._embed_pending = embed_pending
        self._workspaces = workspaces

    async def settle(self, *, principal: Principal, progress: Progress = no_progress) -> None:
        """Return when each chunk has its vector and counts. Raises EmbedderUnavailableError if the model gives out."""
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
                # a failure is being put off, or another process has the rest
                await asyncio.sleep(POLL_SECONDS)
                waited += POLL_SECONDS
