"""An embedder that embeds a query once for all who ask at the same time, and remembers recent ones."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from ragcorp.domain.ports.models import Embedder, EmbeddingModel, Vector


@dataclass(slots=True)
class _Call:
    task: asyncio.Task[Vector]
    waiting: int = 0


class QueryCachingEmbedder:
    """Keeps the last ``size`` query vectors (0: none), least recently used out first.

    A vector depends on the text alone. Those who ask for one text at the same time wait for one call and share its
    outcome; a failure is not remembered. One who is cancelled leaves the others waiting; the last cancels the call.
    """

    def __init__(self, *, embedder: Embedder, size: int = 1024) -> None:
        self._embedder = embedder
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._calls: dict[str, _Call] = {}

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def batch_size(self) -> int:
        return self._embedder.batch_size

    async def embed_query(self, text: str) -> Vector:
        known = self._vectors.get(text)
        if known is not None:
            self._vectors.move_to_end(text)
            return known
        call = self._calls.get(text)
        if call is None or call.task.done():
            call = self._calls[text] = _Call(task=asyncio.create_task(self._embed(text)))
        call.waiting += 1
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            if call.waiting == 0:
                call.task.cancel()
                if self._calls.get(text) is call:
                    del self._calls[text]

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embedder.embed_passages(texts)

    async def aclose(self) -> None:
        await self._embedder.aclose()

    async def _embed(self, text: str) -> Vector:
        vector = await self._embedder.embed_query(text)
        if self._size:
            self._vectors[text] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return vector
