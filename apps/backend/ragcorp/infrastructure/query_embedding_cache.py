"""An embedder that remembers the vectors of recent queries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from ragcorp.domain.ports.models import Embedder, EmbeddingModel, Vector


class QueryCachingEmbedder:
    """Keeps the last ``size`` query vectors, least recently used out first. A vector depends on the text alone."""

    def __init__(self, *, embedder: Embedder, size: int = 1024) -> None:
        self._embedder = embedder
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

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
        vector = await self._embedder.embed_query(text)
        self._vectors[text] = vector
        if len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embedder.embed_passages(texts)

    async def aclose(self) -> None:
        await self._embedder.aclose()
