"""Embeds pending texts while a service runs."""

from __future__ import annotations

import asyncio
import logging

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ports.use_cases import BacklogEmbedding

logger = logging.getLogger(__name__)


class EmbeddingWorker:
    """Processes the backlog in batches; when idle, polls every ``poll_seconds`` or when woken."""

    def __init__(self, *, embed_pending: BacklogEmbedding, poll_seconds: float = 1.0) -> None:
        self._embed_pending = embed_pending
        self._poll_seconds = poll_seconds
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Poll now."""
        self._wake.set()

    async def run(self) -> None:
        """Run until cancelled. Waits out outages of the database and the model."""
        while True:
            self._wake.clear()
            try:
                idle = (await self._embed_pending.embed()).idle
            except RagcorpError as error:
                logger.warning("the embedding worker waits: %s", getattr(error, "reason", error.code))
                idle = True
            if idle:
                try:
                    async with asyncio.timeout(self._poll_seconds):
                        await self._wake.wait()
                except TimeoutError:
                    pass
