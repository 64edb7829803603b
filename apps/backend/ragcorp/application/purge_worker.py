"""Removes for good, while a service runs, what was deleted long enough ago."""

from __future__ import annotations

import asyncio
import logging

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.storage import DocumentRepository

logger = logging.getLogger(__name__)


class PurgeWorker:
    """Purges every workspace once an hour."""

    def __init__(
        self, *, repository: DocumentRepository, older_than_days: float, interval_seconds: float = 3600.0
    ) -> None:
        self._repository = repository
        self._older_than_days = older_than_days
        self._interval_seconds = interval_seconds

    async def run(self) -> None:
        """Run until cancelled. An outage of the database is waited out."""
        while True:
            try:
                purged = await self._repository.purge_deleted(older_than_days=self._older_than_days, principal=None)
                if purged:
                    logger.info("purged %d deleted documents", purged)
            except StorageUnavailableError as error:
                logger.warning("the purge waits for the database: %s", error.reason)
            await asyncio.sleep(self._interval_seconds)
