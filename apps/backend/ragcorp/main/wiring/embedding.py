"""Builds the embedding of stored texts."""

from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.embedding.passage_vectors import VectorMemory
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.tables.embedded import OF_ITEMS, STRUCTURE
from ragcorp.main.wiring.base import Base

PASSAGES_IN_MEMORY = 2048
"""Vectors of passages in memory: 25 MB at 1,536 dimensions, 6 MB at 384."""


def make_embedding(base: Base, cache: PostgresEmbeddingCache) -> EmbedPending:
    database = base.database
    return EmbedPending(
        embedder=base.embedder,
        backlogs=(
            PostgresEmbeddingBacklog(database=database, statistics=base.statistics),
            PostgresEmbeddingBacklog(database=database, table=STRUCTURE),
        ),
        item_backlogs=tuple(PostgresEmbeddingBacklog(database=database, table=table) for table in OF_ITEMS),
        cache=cache,
        memory=VectorMemory(size=PASSAGES_IN_MEMORY, ttl_seconds=base.settings.embedding_cache_ttl),
        observer=base.cache_observers,
    )
