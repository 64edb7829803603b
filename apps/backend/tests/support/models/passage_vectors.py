"""An embedder that answers when it is let, a cache in memory, and an observer that keeps count."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256

from ragcorp.application.embedding.passage_vectors import PassageKey
from ragcorp.domain.embeddings import CacheName, CacheOutcome, EmbeddingModel, Vector
from support.models.embedders import TEST_MODEL, HashingEmbedder


def wanted(*texts: str, workspace: str = "default") -> dict[PassageKey, str]:
    return {(workspace, sha256(text.encode()).digest()): text for text in texts}


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(8):
        await asyncio.sleep(0)


class GatedCalls(HashingEmbedder):
    """Each call for passages waits in ``waiting`` until a test ends it, with None or an error."""

    def __init__(self, *, model: EmbeddingModel = TEST_MODEL) -> None:
        super().__init__(model=model)
        self.calls: list[list[str]] = []
        self.waiting: list[asyncio.Future[None]] = []
        self.cancelled: list[list[str]] = []
        self.running: Counter[str] = Counter()
        self.overlaps: list[str] = []

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        asked = list(texts)
        self.calls.append(asked)
        self.overlaps += [text for text in asked if self.running[text]]
        self.running.update(asked)
        end = asyncio.get_running_loop().create_future()
        self.waiting.append(end)
        try:
            await end
        except asyncio.CancelledError:
            self.cancelled.append(asked)
            raise
        finally:
            self.running.subtract(asked)
            self.waiting.remove(end)
        return [self.vector(text) for text in asked]

    def end(self, index: int = 0, *, error: Exception | None = None) -> None:
        """Let one of the waiting calls go."""
        call = self.waiting[index]
        if call.done():
            return
        if error is None:
            call.set_result(None)
        else:
            call.set_exception(error)


class KeptVectors:
    """The port EmbeddingCache over a dict. It counts how often it is asked."""

    def __init__(self) -> None:
        self.vectors: dict[tuple[str, EmbeddingModel, bytes], Vector] = {}
        self.asked = 0

    async def get(self, keys: Sequence[bytes], *, model: EmbeddingModel, workspace: str) -> dict[bytes, Vector]:
        self.asked += 1
        await asyncio.sleep(0)
        result = {key: self.vectors.get((workspace, model, key)) for key in keys}
        return {key: vector for key, vector in result.items() if vector is not None}

    async def put(self, vectors: Mapping[bytes, Vector], *, model: EmbeddingModel, workspace: str) -> None:
        self.vectors |= {(workspace, model, key): vector for key, vector in vectors.items()}


class Served:
    """Counts as the metrics do."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def vectors_served(self, cache: CacheName, outcome: CacheOutcome, *, count: int = 1) -> None:
        self.counts[f"{cache} {outcome}"] += count
