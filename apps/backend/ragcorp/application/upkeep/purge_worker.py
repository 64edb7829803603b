"""Purges expired data while a service runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ragcorp.domain.exceptions import StorageUnavailableError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeWorker:
    """Purges once an hour, in every workspace; ``purge`` returns how many of ``what`` it removed."""

    purge: Callable[[], Awaitable[int]]
    what: str
    interval_seconds: float = 3600.0

    async def run(self) -> None:
        """Run until cancelled. Waits out outages of the database."""
        while True:
            try:
                purged = await self.purge()
                if purged:
                    logger.info("purged %d %s", purged, self.what)
            except StorageUnavailableError as error:
                logger.warning("the purge of %s waits for the database: %s", self.what, error.reason)
            await asyncio.sleep(self.interval_seconds)
