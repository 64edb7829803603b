"""The port through which vectors of another model are made beside those in use, and take their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from ragcorp.domain.embeddings import CachedVectors, EmbeddingModel, Vector
from ragcorp.domain.ports.storage import PendingChunk

Rejected = Mapping[str, Mapping[int, bytes]]
"""What the model refused, by kind: id and the hash of its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """A model that is active, or of which anything is stored: vectors of texts, or what is made or kept of them.

    ``vectors`` counts the texts with a vector of it, ``missing`` those without; ``indexes`` the valid ones of
    ``all_indexes``.
    """

    model: EmbeddingModel
    active: bool
    vectors: int
    missing: int
    indexes: int
    all_indexes: int


class Reembedding(Protocol):
    """All workspaces' vectors of one more model. Searches and ingestion go on. Outages: StorageUnavailableError."""

    kinds: Sequence[str]
    """What has texts with vectors: chunks, memories, and so on."""

    def exclusively(self) -> AbstractAsyncContextManager[None]:
        """Hold the right to change models for the block.

        Raises ConflictError while another process holds it, ConfigurationError for a role that may not.
        """
        ...

    async def models(self) -> Sequence[ModelState]:
        """Return them by name and width."""
        ...

    async def active(self) -> EmbeddingModel | None: ...

    async def register(self, model: EmbeddingModel) -> None:
        """Make the model known; it stays inactive. Raises ConfigurationError for a width that cannot be indexed."""
        ...

    async def count(self, model: EmbeddingModel) -> tuple[int, int]:
        """Return how many texts there are, and how many of them lack a vector of the model."""
        ...

    async def missing(self, kind: str, *, model: EmbeddingModel, after: int, limit: int) -> list[PendingChunk]:
        """Return up to ``limit`` texts without a vector of the model, by id, from above the id ``after``."""
        ...

    async def store(self, kind: str, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        """Store vectors; what was deleted, or has another text by now, is passed over."""
        ...

    async def refresh(self, model: EmbeddingModel, *, rejected: Rejected) -> None:
        """Set what is made of the model's vectors: each document's direction and each workspace's mean."""
        ...

    async def build_indexes(self, model: EmbeddingModel, *, report: Callable[[int, int], None]) -> None:
        """Make the indexes that are missing or INVALID; ``report`` is told how many of how many stand."""
        ...

    async def activate(self, model: EmbeddingModel, *, rejected: Rejected) -> None:
        """Make the model the active one, in one transaction that lists what still lacks a vector of it.

        Writers wait for it, searches do not. What was ``rejected`` is listed as failed. Raises
        StorageUnavailableError (``locked``) if others keep the tables for minutes; then nothing is changed.
        """
        ...

    async def drop_indexes(self, model: EmbeddingModel) -> None: ...

    async def delete_vectors(self, model: EmbeddingModel, *, limit: int) -> int:
        """Remove up to ``limit`` vectors of an inactive model, cached ones included; return how many went."""
        ...


class EmbeddingCacheUpkeep(Protocol):
    """What an operator sees and removes of that cache, in all workspaces. Vectors in use by an index are no part of it.

    ``model`` is a model's name, None for all. Outages are a StorageUnavailableError.
    """

    async def status(self) -> Sequence[CachedVectors]:
        """Return one entry for each model of the database, by name and width, also where nothing is kept of it."""
        ...

    async def count_unused(self, *, days: float, model: str | None) -> int:
        """Return how many vectors were used last at least so many days ago."""
        ...

    async def prune(self, *, days: float, model: str | None, limit: int) -> int:
        """Remove at most ``limit`` of those, the longest unused first; return how many."""
        ...
