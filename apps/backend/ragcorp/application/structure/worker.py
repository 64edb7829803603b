"""Background worker: extracts the missing or outdated entities of stored documents."""

from __future__ import annotations

import asyncio
import logging

from ragcorp.application.structure.refresh import RefreshStructure
from ragcorp.domain.exceptions import RagcorpError

logger = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
LOOK_SECONDS = 600.0


class StructureWorker:
    """Refreshes at the start and every ``look_seconds``: other services may run other versions or extras.

    Documents that failed or changed while they were read are retried after ``retry_seconds``.
    """

    def __init__(
        self, *, refresh: RefreshStructure, retry_seconds: float = RETRY_SECONDS, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self._refresh = refresh
        self._retry_seconds = retry_seconds
        self._look_seconds = look_seconds

    async def run(self) -> None:
        """Run until cancelled; database outages and conflicting writes are retried."""
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
