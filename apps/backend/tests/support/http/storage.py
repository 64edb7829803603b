"""The PostgreSQL repositories over a database that the first call opens, and faults before the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from ragcorp.domain.collections import Collection
from ragcorp.infrastructure.postgres.chunks.catalogue import PostgresChunkCatalogue
from ragcorp.infrastructure.postgres.collections.counts import PostgresFacetCounts
from ragcorp.infrastructure.postgres.documents.unread import PostgresUnreadParts
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.episodes.store import PostgresEpisodeStore
from ragcorp.infrastructure.postgres.graph.extractions import PostgresExtractionStore
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from support.models.embedders import HashingEmbedder
from support.storage.postgres import PostgresDocuments, open_database, repository_over


@dataclass
class Fault:
    """What the next calls meet: a delay in seconds, then an error."""

    error: Exception | None = None
    delay: float = 0.0

    async def strike(self) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The PostgreSQL implementations, by the names under which `Storage` hands them out."""

    backlog: PostgresEmbeddingBacklog
    documents: PostgresDocuments
    unread: PostgresUnreadParts
    catalogue: PostgresChunkCatalogue
    memory: PostgresItemRepository
    history: PostgresItemRepository
    facets: PostgresFacetCounts
    graph: PostgresGraphRepository
    episodes: PostgresEpisodeStore
    extractions: PostgresExtractionStore


class Storage:
    """One database of a test. Tests that store nothing pay nothing: the first call clones and opens it."""

    def __init__(self, clone: Callable[[], str]) -> None:
        """Take a function that clones the migrated database and returns the DSN."""
        self._clone = clone
        self._stack = AsyncExitStack()
        self._opening: asyncio.Task[Ports] | None = None

    async def ports(self) -> Ports:
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)  # a request that ends early leaves the others their database

    async def _open(self) -> Ports:
        dsn = await asyncio.to_thread(self._clone)
        database = await self._stack.enter_async_context(open_database(dsn))
        return Ports(
            backlog=PostgresEmbeddingBacklog(database=database),
            documents=await repository_over(database),
            unread=PostgresUnreadParts(database=database),
            catalogue=PostgresChunkCatalogue(database=database),
            memory=PostgresItemRepository(database=database, collection=Collection.MEMORY),
            history=PostgresItemRepository(database=database, collection=Collection.HISTORY),
            facets=PostgresFacetCounts(database),
            graph=PostgresGraphRepository(database=database),
            episodes=PostgresEpisodeStore(database=database),
            extractions=PostgresExtractionStore(database=database),
        )

    async def embed(self) -> None:
        """Give each waiting chunk its vector, which the service's worker does in the background."""
        backlog, embedder = (await self.ports()).backlog, HashingEmbedder()
        while batch := await backlog.claim(limit=500, lease_seconds=60):
            vectors = {chunk: embedder.vector(chunk.index_text) for chunk in batch}
            await backlog.complete(vectors, model=embedder.model)

    async def close(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])
        await self._stack.aclose()


class Faulty:
    """Delegates the calls of one port to PostgreSQL, each after the fault that the test has set."""

    def __init__(self, storage: Storage, name: str, *, fault: Fault | None = None) -> None:
        self.fault = fault or Fault()
        self.calls: list[str] = []
        self._storage = storage
        self._name = name

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)

        async def call(*args: Any, **named: Any) -> Any:
            self.calls.append(method)
            await self.fault.strike()
            if method == "find_similar_chunks":
                await self._storage.embed()
            return await getattr(getattr(await self._storage.ports(), self._name), method)(*args, **named)

        return call
