"""The two retrieval sources over the chunks: dense by embedding, sparse by full text."""

from __future__ import annotations

from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.ports.storage import DocumentRepository

VECTORS_PENDING = "vectors_pending"


class DenseChunkSource:
    """Nearest chunks by cosine similarity. The model runs before a connection is taken."""

    name = "dense"

    def __init__(self, *, embedder: Embedder, repository: DocumentRepository) -> None:
        self._embedder = embedder
        self._repository = repository

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        embedding = await self._embedder.embed_query(query.text)
        similar = await self._repository.find_similar_chunks(
            embedding, principal=query.principal, filters=query.filters, limit=query.limit
        )
        return SourceAnswer(
            ranked_list=similar.ranked_list,
            incomplete=VECTORS_PENDING if similar.seen < 1 else None,
            seen=similar.seen,
        )


class FullTextChunkSource:
    """Chunks that match the words of the query."""

    name = "full_text"

    def __init__(self, *, repository: DocumentRepository) -> None:
        self._repository = repository

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        return SourceAnswer(
            ranked_list=await self._repository.find_chunks_full_text(
                query.text, principal=query.principal, filters=query.filters, limit=query.limit
            )
        )
