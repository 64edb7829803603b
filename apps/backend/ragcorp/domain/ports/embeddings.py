"""Ports that compute the vectors of another model, switch to it, and maintain the embedding cache."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from ragcorp.domain.embeddings import CachedVectors, EmbeddingModel, Vector
from ragcorp.domain.ports.storage import PendingChunk

Rejected = Mapping[str, Mapping[int, bytes]]
"""Texts that the model rejected, by kind: row id and hash of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """A model that is active or has vectors: texts with and without one (``missing``), and valid ``indexes`` of all."""

    model: EmbeddingModel
    active: bool
    vectors: int
    missing: int
    indexes: int
    all_indexes: int


class Reembedding(Protocol):
    """Re-embeds all workspaces while searches and ingestion go on. Outages are a StorageUnavailableError."""

    kinds: Sequence[str]
    """Kinds of text with vectors: chunks, memory items and so on."""

    def exclusively(self) -> AbstractAsyncContextManager[None]:
        """Lock changes of the model. Raises ConflictError, or ConfigurationError without the privilege."""

    async def models(self) -> Sequence[ModelState]:
        """Return the models, by name and width."""

    async def active(self) -> EmbeddingModel | None: ...

    async def register(self, model: EmbeddingModel) -> None:
        """Add an inactive model. Raises ConfigurationError for a width that cannot be indexed."""

    async def count(self, model: EmbeddingModel) -> tuple[int, int]:
        """Return the number of texts, and of those without a vector of the model."""

    async def missing(self, kind: str, *, model: EmbeddingModel, after: int, limit: int) -> list[PendingChunk]:
        """Return up to ``limit`` texts without a vector of the model, by id, from above the id ``after``."""

    async def store(self, kind: str, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        """Store vectors; deleted and changed texts are skipped."""

    async def refresh(self, model: EmbeddingModel, *, rejected: Rejected) -> None:
        """Compute the model's vectors of documents and the mean vector of each workspace."""

    async def build_indexes(self, model: EmbeddingModel, *, report: Callable[[int, int], None]) -> None:
        """Build the missing and INVALID indexes; ``report`` receives the number done and the total."""

    async def activate(self, model: EmbeddingModel, *, rejected: Rejected) -> None:
        """Activate the model, in one transaction that enqueues the texts without a vector of it.

        Writers wait meanwhile, searches do not. ``rejected`` texts are enqueued as failed. Raises
        StorageUnavailableError (``locked``) if the tables stay locked for minutes; then nothing has changed.
        """

    async def drop_indexes(self, model: EmbeddingModel) -> None: ...

    async def delete_vectors(self, model: EmbeddingModel, *, limit: int) -> int:
        """Delete up to ``limit`` vectors of an inactive model, cached ones included; return their number."""


class EmbeddingCacheUpkeep(Protocol):
    """Maintains the cache of all workspaces, for one ``model`` or all. Outages are a StorageUnavailableError."""

    async def status(self) -> Sequence[CachedVectors]:
        """Return one entry per model of the database, by name and width, even without cached vectors."""

    async def count_unused(self, *, days: float, model: str | None) -> int:
        """Return the number of vectors unused for at least ``days``."""

    async def prune(self, *, days: float, model: str | None, limit: int) -> int:
        """Delete at most ``limit`` of those, the longest unused first; return their number."""
