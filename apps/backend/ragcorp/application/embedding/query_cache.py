"""Caches query vectors and embeds a query once for concurrent callers."""

import time
from collections.abc import Callable, Sequence

from ragcorp.application.embedding.passage_vectors import VectorMemory
from ragcorp.application.resilience.single_flight import Flight, SingleFlight
from ragcorp.domain.embeddings import CacheName, CacheOutcome, EmbeddingModel, Vector
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, EmbeddingCacheObservers
from ragcorp.tracing import Span

DAY_SECONDS = 86_400.0

_Key = tuple[EmbeddingModel, str, str]
"""Model, workspace and text."""

NO_WORKSPACE = ""


class QueryCachingEmbedder:
    """Caches query vectors by workspace, so that response times reveal nothing about other workspaces; size 0: none."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        size: int = 1024,
        ttl_seconds: float = DAY_SECONDS,
        timer: Callable[[], float] = time.monotonic,
        observer: EmbeddingCacheObserver | None = None,
    ) -> None:
        self._embedder = embedder
        self._memory = VectorMemory(size=size, ttl_seconds=ttl_seconds, timer=timer)
        self._observer = observer or EmbeddingCacheObservers()
        self._flights = SingleFlight[_Key, Flight[_Key, Vector]]()

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def batch_size(self) -> int:
        return self._embedder.batch_size

    async def embed_query(self, text: str) -> Vector:
        return await self.embed_query_of(NO_WORKSPACE, text)

    async def embed_query_of(self, workspace: str, text: str) -> Vector:
        key = self.model, workspace, text
        if (vector := self._memory.get(key)) is not None:
            self._observer.vectors_served(CacheName.QUERY, CacheOutcome.MEMORY)
            return vector
        flight = self._flights.running([key]).get(key)
        self._observer.vectors_served(CacheName.QUERY, CacheOutcome.JOINED if flight else CacheOutcome.MISS)
        flight = flight or self._flights.start(Flight(keys=(key,)), self._embed(key))
        await self._flights.ended([flight])
        return flight.task.result()

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        with Span("embed passages", model=self.model.name, passages=len(texts)):
            return await self._embedder.embed_passages(texts)

    async def aclose(self) -> None:
        await self._embedder.aclose()

    async def _embed(self, key: _Key) -> Vector:
        with Span("embed query", model=self.model.name):
            vector = await self._embedder.embed_query(key[2])
        self._memory.put(key, vector)
        return vector
