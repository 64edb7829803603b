"""The composition root: turns settings into wired use cases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.application.answering.cited_pages import CitedPages
from ragcorp.application.documents.delete import DeleteDocument
from ragcorp.application.documents.list import ListDocuments
from ragcorp.application.documents.restore import RestoreDocument
from ragcorp.application.keys.authenticate import Authenticate
from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.rollout.observers import RolloutObservers
from ragcorp.application.retrieval.search_chunks import SearchChunks
from ragcorp.application.status.model_health import ModelHealth
from ragcorp.application.upkeep.purge_worker import PurgeWorker
from ragcorp.application.workspaces.choose_language import ChooseLanguage
from ragcorp.domain.observers import EmbeddingCacheObservers, TokenObservers
from ragcorp.domain.ports.collections import Reranker
from ragcorp.domain.ports.models import Answerer, Embedder
from ragcorp.domain.ports.sources import FusionService, RetrievalSource
from ragcorp.domain.ports.text import DocumentParser
from ragcorp.domain.search.sources import GRAPH_FACTS, GREP, STRUCTURE
from ragcorp.infrastructure.language.detector import LangidDetector
from ragcorp.infrastructure.postgres.chunks.page_texts import PostgresPageTexts
from ragcorp.infrastructure.postgres.collections.candidate_store import PostgresCandidateStore
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.dense.search import VectorScan
from ragcorp.infrastructure.postgres.documents.repository import LexicalOptions, PostgresDocumentRepository
from ragcorp.infrastructure.postgres.documents.scoring import PostgresChunkScoring
from ragcorp.infrastructure.postgres.documents.store import PostgresDocumentStore
from ragcorp.infrastructure.postgres.episodes.store import PostgresEpisodeStore
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTextAnalyzer
from ragcorp.infrastructure.postgres.models.registry import active_model
from ragcorp.infrastructure.postgres.workspaces.languages import WorkspaceLanguages
from ragcorp.infrastructure.postgres.workspaces.search_statistics import PostgresSearchStatistics
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper
from ragcorp.interface.use_cases import UseCases
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.collections import make_collections
from ragcorp.main.wiring.conversations import make_context, make_conversations
from ragcorp.main.wiring.embedding import cached, make_embedding
from ragcorp.main.wiring.files import make_files
from ragcorp.main.wiring.graph import graph_source, make_graph
from ragcorp.main.wiring.hydration import make_hydration, structure_source
from ragcorp.main.wiring.ingestion import make_ingestion
from ragcorp.main.wiring.keys import make_authenticator
from ragcorp.main.wiring.limits import make_budget
from ragcorp.main.wiring.models import make_answerer, make_embedder, make_reranker
from ragcorp.main.wiring.retrieval import (
    chunk_sources,
    collection_sources,
    make_breaker,
    make_search,
    profiles_of,
    require_unique_names,
)
from ragcorp.main.wiring.rollout import make_rollout
from ragcorp.main.wiring.tracing import make_tracing

if TYPE_CHECKING:
    from ragcorp.infrastructure.otel.exporting import OtlpTraces


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The user's own parts: sources by name, models, fusion by rank.

    ``profiles`` are added to the standard ones, or replace them.
    """

    sources: Mapping[str, RetrievalSource] = field(default_factory=dict)
    embedder: Embedder | None = None
    answerer: Answerer | None = None
    reranker: Reranker | None = None
    fusion: FusionService | None = field(default_factory=RankFusionService)
    profiles: Mapping[str, RetrievalProfile] = field(default_factory=dict)

    def embedding(self, settings: Settings) -> tuple[str, int] | None:
        """Return name and width of the embedding model: the user's own, else the configured one."""
        if self.embedder is None:
            return settings.embedding
        return self.embedder.model.name, self.embedder.model.dimensions


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The wired use cases, and what the service needs besides."""

    settings: Settings
    database: Database
    embedder: Embedder
    parser: DocumentParser
    use_cases: UseCases
    profiles: tuple[str, ...]
    file_roots: tuple[str, ...]
    purge_workers: tuple[PurgeWorker, ...]
    authenticator: Authenticate
    rollout_observers: RolloutObservers
    model_health: ModelHealth
    cache_observers: EmbeddingCacheObservers
    token_observers: TokenObservers
    breaker_states: Callable[[], Mapping[str, str]]
    reranks: bool
    tracing: OtlpTraces | None


@asynccontextmanager
async def open_container(settings: Settings, dsn: str, *, parts: Parts | None = None) -> AsyncIterator[Container]:
    """Open the database at ``dsn`` (the application role's) and wire the use cases.

    Raises ConfigurationError, StorageUnavailableError or IncompatibleEmbeddingsError.
    """
    parts = parts or Parts()
    require_unique_names(parts.sources)
    async with AsyncExitStack() as stack:
        tracing = make_tracing(settings)
        if tracing is not None:
            stack.push_async_callback(tracing.aclose)
        embedder = parts.embedder or make_embedder(settings)
        stack.push_async_callback(embedder.aclose)
        cache_observers = EmbeddingCacheObservers()
        embedder = cached(embedder, settings, observers=cache_observers)
        database = Database(
            dsn,
            options=DatabaseOptions(
                pool_size=settings.database_pool_size,
                pool_timeout_seconds=settings.database_pool_timeout_seconds,
                statement_timeout_ms=int(settings.database_statement_timeout_seconds * 1000),
                lock_timeout_ms=int(settings.database_lock_timeout_seconds * 1000),
            ),
        )
        stack.push_async_callback(database.close)
        await database.open()
        authenticator = make_authenticator(settings, database)
        stack.push_async_callback(authenticator.aclose)
        dense_is_out = embedder.model.dimensions == 0
        model = await active_model(database, configured=None if dense_is_out else embedder.model)
        scan = VectorScan(model=model, ef_search=settings.hnsw_ef_search, max_scan_tuples=settings.hnsw_max_scan_tuples)
        statistics = StatisticsKeeper(refresh_if_stale=PostgresSearchStatistics(database=database).refresh_if_stale)
        stack.push_async_callback(statistics.aclose)
        repository = PostgresDocumentRepository(
            database,
            scan=scan,
            options=LexicalOptions(
                ranking=settings.sparse_ranking,
                operator=settings.sparse_operator,
                budget=settings.sparse_budget,
                default_language=settings.default_language,
            ),
        )
        store = PostgresDocumentStore(database=database, statistics=statistics)
        reranker = parts.reranker or make_reranker(settings)
        if reranker is not None:
            stack.push_async_callback(reranker.aclose)
        files = make_files(settings, database)
        profiles = profiles_of(settings, model, extra_sources=tuple(parts.sources)) | dict(parts.profiles)
        sources = {
            **chunk_sources(embedder, repository, PostgresChunkScoring(database, model=model)),
            **collection_sources(settings, database, embedder, scan),
            GRAPH_FACTS: graph_source(settings, database, embedder, model),
            **({} if files.source is None else {GREP: files.source}),
            STRUCTURE: structure_source(settings, database),
            **parts.sources,
        }
        breaker = make_breaker(settings)
        planner, ranked = make_search(
            settings,
            sources=sources,
            breaker=breaker,
            profiles=profiles,
            repository=repository,
            store=files.stored_with(PostgresCandidateStore(database, model=model)),
            fusion=parts.fusion,
            reranker=reranker,
            analyzer=PostgresTextAnalyzer(database=database),
        )
        rollout, rollout_observers = make_rollout(settings, stack, planner=planner, ranked=ranked)
        hydration = make_hydration(settings, database=database, embedder=embedder, scan=scan, keywords=repository)
        model_health = ModelHealth()
        search = SearchChunks(
            planner=planner,
            ranked=ranked,
            hydrate=hydration.hydrate,
            rollout=rollout,
            observers=[model_health.search_ended],
        )
        token_observers = TokenObservers()
        budget = make_budget(settings, stack, database=database, tokens=token_observers)
        answerer = parts.answerer or make_answerer(settings, database, tokens=token_observers)
        stack.push_async_callback(answerer.aclose)
        embedding = make_embedding(
            settings, database=database, embedder=embedder, statistics=statistics, observers=cache_observers
        )
        ingestion = make_ingestion(
            settings,
            database=database,
            store=store,
            statistics=statistics,
            embed_pending=None if dense_is_out else embedding.embed_pending,
        )
        languages = LangidDetector(default=settings.default_language)
        answer = AnswerQuery(
            search=search,
            answerer=answerer,
            languages=languages,
            pages=CitedPages(texts=PostgresPageTexts(database=database)),
            limits=AnswerLimits(
                max_passages=settings.answer_max_passages,
                max_limit=settings.max_limit,
                timeout_seconds=settings.answer_timeout_seconds,
            ),
            conversations=make_conversations(
                settings, stack, database=database, languages=languages, tokens=token_observers
            ),
            require_budget=budget.require,
            observer=model_health,
        )
        use_cases = UseCases(
            search=search,
            answer=answer,
            context=make_context(settings, search),
            introspect=hydration.introspect,
            grep=files.grep,
            read_file=files.read,
            ingest=ingestion.ingest,
            ingest_folder=ingestion.ingest_folder,
            watch_folder=ingestion.watch_folder,
            distinct_names=ingestion.distinct_names,
            delete=DeleteDocument(store=store),
            restore=RestoreDocument(store=store, preparation=ingestion.preparation),
            documents=ListDocuments(store=store),
            collections=make_collections(
                database=database,
                repository=repository,
                store=store,
                preparation=ingestion.preparation,
                ingest=ingestion.ingest,
                search_timeout_seconds=settings.search_timeout_seconds,
                max_metadata_bytes=settings.max_metadata_bytes,
            ),
            graph=make_graph(settings, stack, database=database, tokens=token_observers, budget=budget),
            refresh_structure=ingestion.refresh_structure,
            embed_pending=embedding.embed_pending,
            prune_embeddings=embedding.prune,
            language=ChooseLanguage(
                languages=WorkspaceLanguages(database=database), default_language=settings.default_language
            ),
            default_language=settings.default_language,
        )
        yield Container(
            settings=settings,
            database=database,
            embedder=embedder,
            parser=ingestion.parser,
            use_cases=use_cases,
            profiles=tuple(profiles),
            file_roots=files.roots,
            authenticator=authenticator,
            rollout_observers=rollout_observers,
            model_health=model_health,
            cache_observers=cache_observers,
            token_observers=token_observers,
            tracing=tracing,
            breaker_states=lambda: breaker.states(sources, now=asyncio.get_running_loop().time()),
            reranks=reranker is not None,
            purge_workers=_purge_workers(settings, store, hydration.episodes),
        )


def _purge_workers(
    settings: Settings, store: PostgresDocumentStore, episodes: PostgresEpisodeStore
) -> tuple[PurgeWorker, ...]:
    turns = PurgeWorker(
        purge=partial(episodes.purge, older_than_days=settings.hydration_retention_days), what="turns of episodes"
    )
    if settings.purge_deleted_after_days is None:
        return (turns,)
    documents = partial(store.purge_deleted, older_than_days=settings.purge_deleted_after_days, principal=None)
    return turns, PurgeWorker(purge=documents, what="deleted documents")
