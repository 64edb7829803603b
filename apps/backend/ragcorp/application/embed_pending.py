"""Use case: make the vectors that chunks and items still wait for. No connection is held while the model runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ingestion import EmbedProgress
from ragcorp.domain.ports.models import Embedder, EmbeddingCache, Vector
from ragcorp.domain.ports.storage import BacklogCounts, EmbeddingBacklog, PendingChunk

logger = logging.getLogger(__name__)

LEASE_SECONDS = 120.0
RETRY_SECONDS = 5.0
UNBOUNDED_ATTEMPTS = 32_000
REJECTED = "rejected"
"""The reason of an EmbedderUnavailableError that no retry can mend: this text is refused."""


_Key = tuple[str, bytes]
"""A passage in the cache: its workspace and the hash of what is embedded."""


class EmbedPending:
    """Takes a batch off each backlog, embeds it, stores the vectors.

    Each has its turn in every round: a long one keeps none of the others waiting.
    """

    def __init__(self, *, embedder: Embedder, backlogs: Sequence[EmbeddingBacklog], cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._backlogs = tuple(backlogs)
        self._cache = cache

    async def execute(self, *, document_id: UUID | None = None, workspace: str | None = None) -> EmbedProgress:
        """Work off one batch of each; of a document there are chunks only.

        Raises StorageUnavailableError; an embedder that is out is reported as ``failed``.
        """
        return _total([await self._work_off(each, document_id, workspace) for each in self._backlogs])

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        counted = [await each.counts(document_id=document_id, workspace=workspace) for each in self._backlogs]
        return BacklogCounts(
            pending=sum(counts.pending for counts in counted), failed=sum(counts.failed for counts in counted)
        )

    async def enqueue_missing(self) -> int:
        """List again everything without a vector, also what was given up; return how many were added."""
        return sum([await each.enqueue_missing() for each in self._backlogs])

    async def _work_off(
        self, backlog: EmbeddingBacklog, document_id: UUID | None, workspace: str | None
    ) -> EmbedProgress:
        batch = await backlog.claim(
            limit=self._embedder.batch_size,
            lease_seconds=LEASE_SECONDS,
            document_id=document_id,
            workspace=workspace,
        )
        if not batch:
            return EmbedProgress(embedded=0, failed=0)
        try:
            return await self._embed(batch, backlog)
        except asyncio.CancelledError:
            await asyncio.shield(backlog.release([chunk.chunk_id for chunk in batch]))
            raise

    async def _embed(self, batch: Sequence[PendingChunk], backlog: EmbeddingBacklog) -> EmbedProgress:
        vectors = await self._cached(batch)
        # equal passages of a workspace are embedded once
        missing = {_key(chunk): chunk.index_text for chunk in batch if _key(chunk) not in vectors}
        try:
            made = await self._vectors(list(missing.values())) if missing else []
        except EmbedderUnavailableError as error:
            if error.reason == REJECTED and len(batch) > 1:
                # one text of the batch is at fault: the others must not suffer for it
                return _total([await self._embed([chunk], backlog) for chunk in batch])
            logger.warning("embedding of %d passages failed: %s", len(batch), error.reason)
            await backlog.fail(
                batch,
                reason=error.reason,
                retry_in_seconds=RETRY_SECONDS,
                max_attempts=1 if error.reason == REJECTED else UNBOUNDED_ATTEMPTS,
            )
            return EmbedProgress(embedded=0, failed=len(batch))
        vectors |= zip(missing, made, strict=True)
        await backlog.complete({chunk: vectors[_key(chunk)] for chunk in batch}, model=self._embedder.model)
        return EmbedProgress(embedded=len(batch), failed=0)

    async def _cached(self, batch: Sequence[PendingChunk]) -> dict[_Key, Vector]:
        """Return what is known of the batch: a passage that was embedded since it was listed costs no second call."""
        vectors: dict[_Key, Vector] = {}
        for workspace in {chunk.workspace for chunk in batch}:
            hashes = [chunk.index_hash for chunk in batch if chunk.workspace == workspace]
            known = await self._cache.get(hashes, model=self._embedder.model, workspace=workspace)
            vectors |= {(workspace, index_hash): vector for index_hash, vector in known.items()}
        return vectors

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


def _total(parts: Sequence[EmbedProgress]) -> EmbedProgress:
    return EmbedProgress(embedded=sum(part.embedded for part in parts), failed=sum(part.failed for part in parts))


def _key(chunk: PendingChunk) -> _Key:
    return chunk.workspace, chunk.index_hash
