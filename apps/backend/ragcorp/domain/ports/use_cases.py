"""Ports through which one use case needs what another does: use cases do not know one another."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from ragcorp.domain.answers import AskEvent
from ragcorp.domain.collections import ItemDraft
from ragcorp.domain.documents import SaveOutcome
from ragcorp.domain.embeddings import BacklogCounts
from ragcorp.domain.filters import Filters
from ragcorp.domain.ingestion import EmbedProgress, IngestOutcome, IngestRequest, IngestResult
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.domain.structure.hydration import Hydration


class ChunkSearch(Protocol):
    """Searches the chunks."""

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse: ...


class EpisodeHydration(Protocol):
    """Plans what a turn of an episode shows, and records it. Neither raises for an outage: ``reports`` name it."""

    async def prepare(
        self, query: str, *, episode_id: str, principal: Principal, filters: Filters = ()
    ) -> Hydration: ...

    async def record(self, hydration: Hydration, *, query: str, principal: Principal) -> Hydration:
        """Return the hydration with its turn, or with None and what went wrong."""


class PreparedBatch(Protocol):
    """Documents that are parsed and chunked. ``is_large``: it should be the only one in memory."""

    @property
    def content_hashes(self) -> Mapping[str, bytes]:
        """Those of the documents that passed the checks, by external_id."""

    @property
    def is_large(self) -> bool: ...

    async def save(self) -> list[IngestOutcome]:
        """Store the documents; return an outcome for each request."""


class BatchIngestion(Protocol):
    """Stores documents in batches; a bad one is reported in its place."""

    async def ingest_many(self, requests: Sequence[IngestRequest], *, principal: Principal) -> list[IngestOutcome]: ...

    async def prepare_many(self, requests: Sequence[IngestRequest], *, principal: Principal) -> PreparedBatch:
        """Do what comes before the first write; ``save`` of the result does the rest."""


class DocumentIngestion(Protocol):
    """Stores one document."""

    async def ingest(
        self, request: IngestRequest, *, principal: Principal, expected: bytes | None = None
    ) -> IngestResult:
        """Raises ConflictError if the stored document has another content hash than ``expected``."""


class ItemSaving(Protocol):
    """Stores items of memory or history in batches; a bad one is reported in its place."""

    async def save_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[SaveOutcome]: ...


class BacklogEmbedding(Protocol):
    """Makes missing vectors, a batch a call."""

    async def embed(self, *, document_id: UUID | None = None, workspace: str | None = None) -> EmbedProgress: ...

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts: ...


class QuestionAnswering(Protocol):
    """Answers a question from the documents, or abstains. ``final_answer`` collects a stream."""

    def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        """Yield ``Searched``, text deltas, and last the ``Answer``."""
