"""Extracts, when a service starts, the entities of documents that were stored before."""

from __future__ import annotations

import asyncio
import logging

from ragcorp.application.refresh_structure import RefreshStructure
from ragcorp.domain.exceptions import StorageUnavailableError

logger = logging.getLogger(__name__)

RETRY_SECONDS = 10.0


class StructureWorker:
    """Refreshes once. Documents that are stored from then on bring their entities with them."""

    def __init__(self, *, refresh: RefreshStructure, retry_seconds: float = RETRY_SECONDS) -> None:
        self._refresh = refresh
        self._retry_seconds = retry_seconds

    async def run(self) -> None:
        """Run until nothing is out of date, or cancelled. An outage of the database is waited out."""
        while True:
            try:
                done = await self._refresh.execute()
            except StorageUnavailableError as error:
                logger.warning("the entities wait for the database: %s", error.reason)
                await asyncio.sleep(self._retry_seconds)
                continue
            if done.documents:
                logger.info("extracted %d entities of %d documents", done.entities, done.documents)
            return
