"""Purges expired data while a service runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ragcorp.domain.exceptions import StorageUnavailableError

logger = logging.getLogger(__name__)


class PurgeWorker:
    """Purges once an hour, in every workspace; ``purge`` returns how many of ``what`` it removed."""

    def __init__(self, *, purge: Callable[[], Awaitable[int]], what: str, interval_seconds: float = 3600.0) -> None:
        self._purge = purge
        self._what = what
        self._interval_seconds = interval_seconds

    @property
    def what(self) -> str:
        return self._what

    async def run(self) -> None:
        """Run until cancelled. Waits out outages of the database."""
        while True:
            try:
                purged = await self._purge()
                if purged:
                    logger.info("purged %d %s", purged, self._what)
            except StorageUnavailableError as error:
                logger.warning("the purge of %s waits for the database: %s", self._what, error.reason)
            await asyncio.sleep(self._interval_seconds)
