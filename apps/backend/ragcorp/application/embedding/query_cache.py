"""An embedder that embeds a query once for all who ask at the same time, and remembers recent ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragcorp.application.embedding.vector_memory import VectorMemory
from ragcorp.domain.embeddings import CacheName, CacheOutcome, EmbeddingModel, Vector
from ragcorp.domain.observers import EmbeddingCacheObservers
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.ports.observers import EmbeddingCacheObserver
from ragcorp.tracing import Span

DAY_SECONDS = 86_400.0

_Key = tuple[EmbeddingModel, str, str]
"""Model, workspace and text."""

NO_WORKSPACE = ""


@dataclass(slots=True)
class _Call:
    task: asyncio.Task[Vector]
    waiting: int = 0


class QueryCachingEmbedder:
    """Keeps the last ``size`` query vectors, each for ``ttl_seconds``, least recently used out first; 0 keeps none.

    A vector depends on the model and the text alone, and is remembered for each workspace apart, so that no answer
    comes the sooner for what another one asked. Those of a workspace who ask for one text at the same time wait for one
    call and share its outcome; a failure is not remembered. One who is cancelled leaves the others waiting; the last
    cancels the call.
    """

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
        self._calls: dict[_Key, _Call] = {}

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
        known = self._memory.get(key)
        if known is not None:
            self._observer.vectors_served(CacheName.QUERY, CacheOutcome.MEMORY)
            return known
        call = self._calls.get(key)
        if call is None or call.task.done():
            self._observer.vectors_served(CacheName.QUERY, CacheOutcome.MISS)
            call = self._calls[key] = _Call(task=asyncio.create_task(self._embed(key)))
        else:
            self._observer.vectors_served(CacheName.QUERY, CacheOutcome.JOINED)
        call.waiting += 1
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            if call.waiting == 0:
                call.task.cancel()
                if self._calls.get(key) is call:
                    del self._calls[key]

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
