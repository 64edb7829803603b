"""Ports through which one use case needs what another does: use cases do not know one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from ragcorp.domain.answers import Answer
from ragcorp.domain.ingestion import EmbedProgress, IngestOutcome, IngestRequest
from ragcorp.domain.ports.storage import BacklogCounts
from ragcorp.domain.principal import Principal
from ragcorp.domain.search import SearchRequest, SearchResponse


class ChunkSearch(Protocol):
    """Searches the chunks."""

    async def execute(self, request: SearchRequest, *, principal: Principal) -> SearchResponse: ...


class BatchIngestion(Protocol):
    """Stores documents in batches; a bad one is reported in its place."""

    async def execute_many(self, requests: Sequence[IngestRequest], *, principal: Principal) -> list[IngestOutcome]: ...


class BacklogEmbedding(Protocol):
    """Makes missing vectors, a batch a call."""

    async def execute(self, *, document_id: UUID | None = None, workspace: str | None = None) -> EmbedProgress: ...

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts: ...


class QuestionAnswering(Protocol):
    """Answers a question from the documents, or abstains."""

    async def execute(self, request: SearchRequest, *, principal: Principal) -> Answer: ...
