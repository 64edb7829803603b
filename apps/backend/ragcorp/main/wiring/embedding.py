"""Builds the embedding of stored texts, and the caches of vectors."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.embedding.prune import PruneEmbeddings
from ragcorp.application.embedding.query_cache import QueryCachingEmbedder
from ragcorp.application.embedding.vector_memory import VectorMemory
from ragcorp.domain.observers import EmbeddingCacheObservers
from ragcorp.domain.ports.models import Embedder
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.tables.embedded import OF_ITEMS, STRUCTURE
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper
from ragcorp.main.settings.schema import Settings

PASSAGES_IN_MEMORY = 2048
"""Vectors of passages in memory: 25 MB at 1,536 dimensions, 6 MB at 384."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingParts:
    embed_pending: EmbedPending
    prune: PruneEmbeddings


def cached(embedder: Embedder, settings: Settings, *, observers: EmbeddingCacheObservers) -> QueryCachingEmbedder:
    """Return the embedder behind the cache of queries."""
    return QueryCachingEmbedder(
        embedder=embedder,
        size=settings.query_cache_size,
        ttl_seconds=settings.embedding_cache_ttl,
        observer=observers,
    )


def make_embedding(
    settings: Settings,
    *,
    database: Database,
    embedder: Embedder,
    statistics: StatisticsKeeper,
    observers: EmbeddingCacheObservers,
) -> EmbeddingParts:
    cache = PostgresEmbeddingCache(database=database)
    return EmbeddingParts(
        embed_pending=EmbedPending(
            embedder=embedder,
            backlogs=(
                PostgresEmbeddingBacklog(database=database, statistics=statistics),
                PostgresEmbeddingBacklog(database=database, table=STRUCTURE),
            ),
            item_backlogs=tuple(PostgresEmbeddingBacklog(database=database, table=table) for table in OF_ITEMS),
            cache=cache,
            memory=VectorMemory(size=PASSAGES_IN_MEMORY, ttl_seconds=settings.embedding_cache_ttl),
            observer=observers,
        ),
        prune=PruneEmbeddings(cache=cache),
    )
