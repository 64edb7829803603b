"""Makes the vectors of a document in the process that makes all vectors."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from ragcorp.domain.embeddings import BacklogCounts
from ragcorp.domain.ingestion import EmbedProgress
from ragcorp.domain.ports.use_cases import BacklogEmbedding

EmbedDocument = Callable[[UUID], Awaitable[EmbedProgress]]
"""Processes a batch of a document's backlog in another process."""


class EmbedElsewhere:
    """A BacklogEmbedding of single documents; ``backlog`` counts what is left."""

    def __init__(self, embed_document: EmbedDocument, backlog: BacklogEmbedding) -> None:
        self._embed_document = embed_document
        self._backlog = backlog

    async def embed(
        self,
        *,
        document_id: UUID | None = None,
        workspace: str | None = None,  # noqa: ARG002 - the port's
    ) -> EmbedProgress:
        """Process a batch of the document; without one, none."""
        if document_id is None:
            return EmbedProgress(embedded=0, failed=0)
        return await self._embed_document(document_id)

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        return await self._backlog.counts(document_id=document_id, workspace=workspace)
