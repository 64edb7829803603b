"""Embedders for tests: they implement the port, deterministically and without a model."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError

TEST_MODEL = EmbeddingModel(name="test-embedder", dimensions=8)


class HashingEmbedder:
    """A bag of hashed words: texts that share words are near one another."""

    def __init__(self, *, model: EmbeddingModel = TEST_MODEL) -> None:
        self.model = model
        self.batch_size = 16
        self.embedded: list[str] = []
        self.queries: list[str] = []

    async def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        return self.vector(text)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.embedded += texts
        return [self.vector(text) for text in texts]

    async def aclose(self) -> None:
        return None

    def vector(self, text: str) -> Vector:
        values = [1e-3] * self.model.dimensions
        for word in text.lower().split():
            digest = hashlib.sha256(word.strip(".,;:¿?¡!«»()").encode()).digest()
            values[digest[0] % self.model.dimensions] += 1.0 if digest[1] % 2 else -0.5
        norm = math.sqrt(math.fsum(value * value for value in values))
        return tuple(value / norm for value in values)


class BrokenEmbedder(HashingEmbedder):
    """Raises the given error for queries, passages or both."""

    def __init__(self, *, reason: str = "unreachable", queries: bool = True, passages: bool = True) -> None:
        super().__init__()
        self._reason, self.queries_fail, self.passages_fail = reason, queries, passages

    async def embed_query(self, text: str) -> Vector:
        if self.queries_fail:
            raise EmbedderUnavailableError("out", reason=self._reason)
        return await super().embed_query(text)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        if self.passages_fail:
            raise EmbedderUnavailableError("out", reason=self._reason)
        return await super().embed_passages(texts)
