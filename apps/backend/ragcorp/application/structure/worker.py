"""Extracts, while a service runs, the entities of documents that others stored without them or with fewer."""

from __future__ import annotations

import asyncio
import logging

from ragcorp.application.structure.refresh import RefreshStructure
from ragcorp.domain.exceptions import RagcorpError

logger = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
LOOK_SECONDS = 600.0


class StructureWorker:
    """Refreshes at the start, and looks again every ``look_seconds``: versions and extras of services differ.

    What waits (it changed while it was read), or failed, is tried again after ``retry_seconds``.
    """

    def __init__(
        self,
        *,
        refresh: RefreshStructure,
        retry_seconds: float = RETRY_SECONDS,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._refresh = refresh
        self._retry_seconds = retry_seconds
        self._look_seconds = look_seconds

    async def run(self) -> None:
        """Run until cancelled. An outage of the database, or a write that got in the way, is waited out."""
        while True:
            is_done = False
            try:
                done = await self._refresh.refresh()
            except RagcorpError as error:
                logger.warning("the entities wait: %s", getattr(error, "reason", error.code))
            else:
                is_done = not done.waiting
                if done.documents:
                    logger.info("extracted %d entities of %d documents", done.entities, done.documents)
            await asyncio.sleep(self._look_seconds if is_done else self._retry_seconds)
