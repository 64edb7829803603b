"""Opens what every capability needs: database, embedder, stores and observers."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ragcorp.application.embedding.query_cache import QueryCachingEmbedder
from ragcorp.application.resilience.circuit_breaker import CircuitBreaker
from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.domain.ports.collections import Reranker
from ragcorp.domain.ports.models import Answerer, Embedder
from ragcorp.domain.ports.observers import EmbeddingCacheObservers, TokenObservers
from ragcorp.domain.ports.recognition import TextRecognizer
from ragcorp.domain.ports.sources import FusionService, RetrievalSource
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.dense.search import VectorScan
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.documents.store import PostgresDocumentStore
from ragcorp.infrastructure.postgres.lexical.search import LexicalOptions
from ragcorp.infrastructure.postgres.models.registry import ActiveModel, active_model
from ragcorp.infrastructure.postgres.workspaces.search_statistics import PostgresSearchStatistics
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.models import make_embedder


class Closable(Protocol):
    async def aclose(self) -> None: ...


Part = TypeVar("Part", bound=Closable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The user's own parts: sources by name, models, fusion by rank.

    ``profiles`` are added to the standard ones, or replace them.

    >>> ragcorp.Parts().sources
    {}
    """

    sources: Mapping[str, RetrievalSource] = field(default_factory=dict)
    embedder: Embedder | None = None
    answerer: Answerer | None = None
    reranker: Reranker | None = None
    recognizer: TextRecognizer | None = None
    fusion: FusionService | None = field(default_factory=RankFusionService)
    profiles: Mapping[str, RetrievalProfile] = field(default_factory=dict)

    def embedding(self, settings: Settings) -> tuple[str, int] | None:
        """Return name and width of the embedding model: the user's own, else the configured one."""
        if self.embedder is None:
            return settings.embedding
        return self.embedder.model.name, self.embedder.model.dimensions


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Shared objects of one container; ``stack`` closes them in reverse order."""

    settings: Settings
    stack: AsyncExitStack
    database: Database
    embedder: Embedder
    scan: VectorScan
    repository: PostgresDocumentRepository
    store: PostgresDocumentStore
    statistics: StatisticsKeeper
    cache_observers: EmbeddingCacheObservers
    token_observers: TokenObservers = field(default_factory=TokenObservers)

    @property
    def model(self) -> ActiveModel | None:
        """The active model, None without vectors."""
        return self.scan.model

    @property
    def embeds(self) -> bool:
        return self.embedder.model.dimensions > 0

    def make_breaker(self) -> CircuitBreaker:
        return CircuitBreaker(
            failures=self.settings.circuit_breaker_failures,
            cooldown_seconds=self.settings.circuit_breaker_cooldown_seconds,
        )

    def closing(self, part: Part) -> Part:
        """Return ``part``, which closes with the container."""
        self.stack.push_async_callback(part.aclose)
        return part


async def open_base(settings: Settings, dsn: str, *, own_embedder: Embedder | None, stack: AsyncExitStack) -> Base:
    """Open database and embedder. Raises ConfigurationError, StorageUnavailableError or IncompatibleEmbeddingsError."""
    inner = own_embedder or make_embedder(settings)
    stack.push_async_callback(inner.aclose)
    cache_observers = EmbeddingCacheObservers()
    embedder = QueryCachingEmbedder(
        embedder=inner,
        size=settings.query_cache_size,
        ttl_seconds=settings.embedding_cache_ttl,
        observer=cache_observers,
    )
    options = DatabaseOptions(
        pool_size=settings.database_pool_size,
        pool_timeout_seconds=settings.database_pool_timeout_seconds,
        statement_timeout_ms=int(settings.database_statement_timeout_seconds * 1000),
        lock_timeout_ms=int(settings.database_lock_timeout_seconds * 1000),
    )
    database = Database(dsn, options=options)
    stack.push_async_callback(database.close)
    await database.open()
    model = await active_model(database, configured=embedder.model if embedder.model.dimensions else None)
    scan = VectorScan(model=model, ef_search=settings.hnsw_ef_search, max_scan_tuples=settings.hnsw_max_scan_tuples)
    statistics = StatisticsKeeper(refresh_if_stale=PostgresSearchStatistics(database=database).refresh_if_stale)
    stack.push_async_callback(statistics.aclose)
    return Base(
        settings=settings,
        stack=stack,
        database=database,
        embedder=embedder,
        scan=scan,
        repository=PostgresDocumentRepository(
            database,
            scan=scan,
            options=LexicalOptions(
                ranking=settings.sparse_ranking,
                operator=settings.sparse_operator,
                budget=settings.sparse_budget,
                default_language=settings.default_language,
            ),
            statistics=statistics,
        ),
        store=PostgresDocumentStore(database=database, statistics=statistics),
        statistics=statistics,
        cache_observers=cache_observers,
    )
