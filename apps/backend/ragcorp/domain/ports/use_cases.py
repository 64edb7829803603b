"""Ports through which one use case needs what another does: use cases do not know one another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol
from uuid import UUID

from ragcorp.domain.answers import Answer, AskEvent
from ragcorp.domain.collections import ItemDraft, SaveOutcome
from ragcorp.domain.ingestion import EmbedProgress, IngestOutcome, IngestRequest, IngestResult
from ragcorp.domain.ports.storage import BacklogCounts
from ragcorp.domain.principal import Principal
from ragcorp.domain.search import SearchRequest, SearchResponse


class ChunkSearch(Protocol):
    """Searches the chunks."""

    async def execute(self, request: SearchRequest, *, principal: Principal) -> SearchResponse: ...


class BatchIngestion(Protocol):
    """Stores documents in batches; a bad one is reported in its place."""

    async def execute_many(self, requests: Sequence[IngestRequest], *, principal: Principal) -> list[IngestOutcome]: ...


class DocumentIngestion(Protocol):
    """Stores one document."""

    async def execute(
        self, request: IngestRequest, *, principal: Principal, expected: bytes | None = None
    ) -> IngestResult:
        """Raises ConflictError if the stored document has another content hash than ``expected``."""
        ...


class ItemSaving(Protocol):
    """Stores items of memory or history in batches; a bad one is reported in its place."""

    async def execute_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[SaveOutcome]: ...


class BacklogEmbedding(Protocol):
    """Makes missing vectors, a batch a call."""

    async def execute(self, *, document_id: UUID | None = None, workspace: str | None = None) -> EmbedProgress: ...

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts: ...


class QuestionAnswering(Protocol):
    """Answers a question from the documents, or abstains."""

    async def execute(self, request: SearchRequest, *, principal: Principal) -> Answer: ...

    def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        """Yield ``Searched``, text deltas, and last the ``Answer``."""
        ...
