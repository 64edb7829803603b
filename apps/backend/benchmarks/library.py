"""The library under measurement, with vectors that cost nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from benchmarks.corpus import Query
from benchmarks.loading import MODEL
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container


class PrecomputedEmbedder:
    """Looks the query's vector up: the benchmark times retrieval, not a model."""

    batch_size = 64

    def __init__(self, queries: Iterable[Query]) -> None:
        self._vectors = {query.text: query.vector for query in queries}

    @property
    def model(self) -> EmbeddingModel:
        return MODEL

    async def embed_query(self, text: str) -> Vector:
        return self._vectors[text]

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return [next(iter(self._vectors.values()))] * len(texts)

    async def aclose(self) -> None:
        return None


def open_container_over(dsn: str, queries: Iterable[Query], **settings: Any) -> AbstractAsyncContextManager[Container]:
    """Wire ragcorp as `ragcorp.open()` does, hybrid search on."""
    settings = {"embedding_provider": "none", "enable_hybrid_search": True, **settings}
    return open_container(load_settings(settings), dsn, parts=Parts(embedder=PrecomputedEmbedder(queries)))
