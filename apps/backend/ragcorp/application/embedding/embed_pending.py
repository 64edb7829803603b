"""Use case: make the missing vectors of chunks and items. Holds no connection while the model runs."""

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from ragcorp.application.embedding.passage_vectors import REJECTED, PassageVectors, VectorMemory
from ragcorp.application.resilience.source_reports import reason_of
from ragcorp.domain.embeddings import BacklogCounts
from ragcorp.domain.exceptions import EmbedderUnavailableError, RagcorpError
from ragcorp.domain.ingestion import EmbedProgress
from ragcorp.domain.ports.models import Embedder, EmbeddingCache
from ragcorp.domain.ports.observers import EmbeddingCacheObserver
from ragcorp.domain.ports.storage import EmbeddingBacklog, PendingChunk
from ragcorp.domain.ports.use_cases import BacklogEmbedding

logger = logging.getLogger(__name__)

LEASE_SECONDS = 120.0
RETRY_SECONDS = 5.0
UNBOUNDED_ATTEMPTS = 32_000


class EmbedPending:
    """Embeds a batch of each backlog. Vectors of items are not cached: items are their own cache (ADR-030)."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        backlogs: Sequence[EmbeddingBacklog],
        cache: EmbeddingCache,
        item_backlogs: Sequence[EmbeddingBacklog] = (),
        memory: VectorMemory | None = None,
        observer: EmbeddingCacheObserver | None = None,
    ) -> None:
        self._embedder = embedder
        self._backlogs = (*backlogs, *item_backlogs)
        self._forgetful = tuple(item_backlogs)
        self._vectors = PassageVectors(embedder=embedder, cache=cache, memory=memory, observer=observer)

    async def embed(self, *, document_id: UUID | None = None, workspace: str | None = None) -> EmbedProgress:
        """Process a batch of each backlog, of a document only chunks. An embedder's outage counts as ``failed``."""
        return _total([await self._work_off(backlog, document_id, workspace) for backlog in self._backlogs])

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        counted = [await backlog.counts(document_id=document_id, workspace=workspace) for backlog in self._backlogs]
        return BacklogCounts(
            pending=sum(counts.pending for counts in counted), failed=sum(counts.failed for counts in counted)
        )

    async def enqueue_missing(self) -> int:
        """Enqueue everything without a vector, abandoned entries included; return how many were added."""
        return sum([await backlog.enqueue_missing() for backlog in self._backlogs])

    async def _work_off(
        self, backlog: EmbeddingBacklog, document_id: UUID | None, workspace: str | None
    ) -> EmbedProgress:
        batch = await backlog.claim(
            limit=self._embedder.batch_size,
            lease_seconds=LEASE_SECONDS,
            document_id=document_id,
            workspace=workspace,
            model=self._embedder.model,
        )
        if not batch:
            return EmbedProgress(embedded=0, failed=0)
        try:
            return await self._embed(batch, backlog)
        except asyncio.CancelledError:
            await asyncio.shield(backlog.release([chunk.chunk_id for chunk in batch]))
            raise

    async def _embed(self, batch: Sequence[PendingChunk], backlog: EmbeddingBacklog) -> EmbedProgress:
        try:
            # equal passages of a workspace are embedded once
            vectors = await self._vectors.of(
                {chunk.key: chunk.index_text for chunk in batch}, remember=backlog not in self._forgetful
            )
        except EmbedderUnavailableError as error:
            if error.reason == REJECTED and len(batch) > 1:
                # one text of the batch is refused: embed the others without it
                return _total([await self._embed([chunk], backlog) for chunk in batch])
            logger.warning("embedding of %d passages failed: %s", len(batch), error.reason)
            await backlog.fail(
                batch,
                reason=error.reason,
                retry_in_seconds=RETRY_SECONDS,
                max_attempts=1 if error.reason == REJECTED else UNBOUNDED_ATTEMPTS,
            )
            return EmbedProgress(embedded=0, failed=len(batch))
        await backlog.complete({chunk: vectors[chunk.key] for chunk in batch}, model=self._embedder.model)
        return EmbedProgress(embedded=len(batch), failed=0)


def _total(parts: Sequence[EmbedProgress]) -> EmbedProgress:
    return EmbedProgress(embedded=sum(part.embedded for part in parts), failed=sum(part.failed for part in parts))


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
                logger.warning("the embedding worker waits: %s", reason_of(error))
                idle = True
            if idle:
                try:
                    async with asyncio.timeout(self._poll_seconds):
                        await self._wake.wait()
                except TimeoutError:
                    pass
