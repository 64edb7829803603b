"""Another embedding model for a test database: the one in use is TEST_MODEL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ragcorp.application.embed_pending import EmbedPending
from ragcorp.application.reembed import Reembed
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ports.models import EmbeddingModel, Vector
from ragcorp.infrastructure.postgres.database import Database
from ragcorp.infrastructure.postgres.embedding_backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embedding_cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.item_backlog import PostgresItemBacklog
from ragcorp.infrastructure.postgres.item_rows import WITH_VECTORS
from ragcorp.infrastructure.postgres.reembedding import PostgresReembedding
from ragcorp.infrastructure.postgres.structure_vectors import PostgresStructureVectors
from support.embedders import HashingEmbedder
from support.postgres import open_database

NEW_MODEL = EmbeddingModel(name="new-embedder", dimensions=16)

MISSING = """
    SELECT count(*) FROM chunks c WHERE NOT EXISTS (
        SELECT FROM chunk_embeddings e JOIN embedding_models m ON m.id = e.model_id
        WHERE e.chunk_id = c.id AND m.name = %s)
"""


class RefusingEmbedder(HashingEmbedder):
    """The new model; it refuses a call with a text that holds ``refused``."""

    def __init__(self, *, refused: str = "\x00", model: EmbeddingModel = NEW_MODEL) -> None:
        super().__init__(model=model)
        self.batch_size = 4
        self._refused = refused

    async def embed_passages(self, texts: Any) -> list[Vector]:
        if any(self._refused in text for text in texts):
            raise EmbedderUnavailableError("no", reason="rejected")
        return await super().embed_passages(texts)


@asynccontextmanager
async def open_store(owner_dsn: str) -> AsyncIterator[tuple[PostgresReembedding, Database]]:
    async with open_database(owner_dsn) as database:
        yield PostgresReembedding(database=database, dsn=owner_dsn, retry_seconds=0.01), database


def pending_over(database: Database, embedder: HashingEmbedder) -> EmbedPending:
    return EmbedPending(
        embedder=embedder,
        backlogs=(PostgresEmbeddingBacklog(database=database), PostgresStructureVectors(database=database)),
        item_backlogs=[PostgresItemBacklog(database=database, tables=tables) for tables in WITH_VECTORS],
        cache=PostgresEmbeddingCache(database=database),
    )


def reembed_over(store: PostgresReembedding, database: Database, embedder: HashingEmbedder) -> Reembed:
    return Reembed(
        embedder=embedder,
        store=store,
        cache=PostgresEmbeddingCache(database=database),
        backlog=pending_over(database, embedder),
    )
