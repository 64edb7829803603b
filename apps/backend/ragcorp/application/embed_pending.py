"""Use case: make the vectors that chunks still wait for. No connection is held while the model runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ingestion import EmbedProgress
from ragcorp.domain.ports.models import Embedder, Vector
from ragcorp.domain.ports.storage import BacklogCounts, EmbeddingBacklog, PendingChunk

logger = logging.getLogger(__name__)

LEASE_SECONDS = 120.0
RETRY_SECONDS = 5.0
UNBOUNDED_ATTEMPTS = 32_000
REJECTED = "rejected"
"""The reason of an EmbedderUnavailableError that no retry can mend: this text is refused."""


class EmbedPending:
    """Takes a batch off the backlog, embeds it, stores the vectors."""

    def __init__(self, *, embedder: Embedder, backlog: EmbeddingBacklog) -> None:
        self._embedder = embedder
        self._backlog = backlog

    async def execute(self, *, document_id: UUID | None = None, workspace: str | None = None) -> EmbedProgress:
        """Work off one batch. Raises StorageUnavailableError; an embedder that is out is reported as ``failed``."""
        batch = await self._backlog.claim(
            limit=self._embedder.batch_size,
            lease_seconds=LEASE_SECONDS,
            document_id=document_id,
            workspace=workspace,
        )
        if not batch:
            return EmbedProgress(embedded=0, failed=0)
        try:
            return await self._embed(batch)
        except asyncio.CancelledError:
            await asyncio.shield(self._backlog.release([chunk.chunk_id for chunk in batch]))
            raise

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        return await self._backlog.counts(document_id=document_id, workspace=workspace)

    async def enqueue_missing(self) -> int:
        """List again every chunk without a vector, also those that were given up; return how many."""
        return await self._backlog.enqueue_missing()

    async def _embed(self, batch: Sequence[PendingChunk]) -> EmbedProgress:
        try:
            vectors = await self._vectors([chunk.index_text for chunk in batch])
        except EmbedderUnavailableError as error:
            if error.reason == REJECTED and len(batch) > 1:
                # one text of the batch is at fault: the others must not suffer for it
                parts = [await self._embed([chunk]) for chunk in batch]
                return EmbedProgress(
                    embedded=sum(part.embedded for part in parts), failed=sum(part.failed for part in parts)
                )
            logger.warning("embedding of %d chunks failed: %s", len(batch), error.reason)
            await self._backlog.fail(
                [chunk.chunk_id for chunk in batch],
                reason=error.reason,
                retry_in_seconds=RETRY_SECONDS,
                max_attempts=1 if error.reason == REJECTED else UNBOUNDED_ATTEMPTS,
            )
            return EmbedProgress(embedded=0, failed=len(batch))
        await self._backlog.complete(
            {chunk.chunk_id: vector for chunk, vector in zip(batch, vectors, strict=True)}, model=self._embedder.model
        )
        return EmbedProgress(embedded=len(batch), failed=0)

    async def _vectors(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Embed, and hold an embedder of the user's own to its port. Raises EmbedderUnavailableError only."""
        try:
            vectors = await self._embedder.embed_passages(texts)
            widths = {len(vector) for vector in vectors}
        except EmbedderUnavailableError:
            raise
        except Exception as error:  # its bug must not stop the worker: it is logged, and the chunks are tried later
            logger.exception("the embedder raised an unexpected error")
            raise EmbedderUnavailableError("The embedder failed.", reason="error") from error
        if len(vectors) != len(texts):
            raise EmbedderUnavailableError("The embedder returned another number of vectors.", reason="wrong_count")
        if widths - {self._embedder.model.dimensions}:
            raise EmbedderUnavailableError("The embedder returned vectors of another width.", reason="wrong_width")
        return vectors
