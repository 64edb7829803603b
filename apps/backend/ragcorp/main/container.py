"""The composition root: turns settings into wired use cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from ragcorp.application.answer_query import AnswerLimits, AnswerQuery
from ragcorp.application.choose_language import ChooseLanguage
from ragcorp.application.delete_document import DeleteDocument
from ragcorp.application.distinct_names import RequireDistinctNames
from ragcorp.application.embed_pending import EmbedPending
from ragcorp.application.list_documents import ListDocuments
from ragcorp.application.purge_worker import PurgeWorker
from ragcorp.application.rank_fusion import RankFusionService
from ragcorp.application.restore_document import RestoreDocument
from ragcorp.application.retrieval_profile import GRAPH_FACTS, GREP, RetrievalProfile
from ragcorp.application.rolled_out_search import RolledOutSearch
from ragcorp.application.rollout import planned_rollout
from ragcorp.application.rollout_observers import RolloutObservers
from ragcorp.application.shadow_search import COMPARED, ShadowLimits, ShadowSearch
from ragcorp.application.watch_folder import WatchFolder
from ragcorp.domain.ports.collections import Reranker
from ragcorp.domain.ports.models import Answerer, Embedder
from ragcorp.domain.ports.sources import FusionService, RetrievalSource
from ragcorp.domain.ports.text import DocumentParser
from ragcorp.infrastructure.language.detector import LangidDetector
from ragcorp.infrastructure.postgres.candidate_store import PostgresCandidateStore
from ragcorp.infrastructure.postgres.channels import ChunkChannels
from ragcorp.infrastructure.postgres.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.document_repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.embedding_backlog import PostgresEmbeddingBacklog, PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.item_backlog import PostgresItemBacklog
from ragcorp.infrastructure.postgres.item_rows import WITH_VECTORS
from ragcorp.infrastructure.postgres.languages import WorkspaceLanguages
from ragcorp.infrastructure.postgres.lexical_channel import LexicalChannel, LexicalOptions
from ragcorp.infrastructure.postgres.model_registry import active_model
from ragcorp.infrastructure.postgres.search_statistics import PostgresSearchStatistics
from ragcorp.infrastructure.postgres.statistics_keeper import StatisticsKeeper
from ragcorp.infrastructure.query_embedding_cache import QueryCachingEmbedder
from ragcorp.interface.library.rag import UseCases
from ragcorp.main.collection_parts import make_collections
from ragcorp.main.conversation_parts import make_context, make_conversation
from ragcorp.main.file_parts import make_files
from ragcorp.main.graph_parts import graph_source, make_graph
from ragcorp.main.ingestion_parts import make_ingestion
from ragcorp.main.model_parts import make_answerer, make_embedder, make_reranker
from ragcorp.main.retrieval_parts import (
    chunk_search,
    chunk_sources,
    collection_sources,
    profiles_of,
    require_names_of_their_own,
)
from ragcorp.main.settings import Settings

CONNECTIONS_PER_SHADOW = 8
"""Connections of the pool for each shadow search that may run: it takes a few, and answers come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Parts of the user's own: sources by name (asked beside ours where several are), models, fusion by rank.

    ``profiles`` stand beside the standard ones, or in their place.
    """

    sources: Mapping[str, RetrievalSource] = field(default_factory=dict)
    embedder: Embedder | None = None
    answerer: Answerer | None = None
    reranker: Reranker | None = None
    fusion: FusionService | None = field(default_factory=RankFusionService)
    profiles: Mapping[str, RetrievalProfile] = field(default_factory=dict)

    def embedding(self, settings: Settings) -> tuple[str, int] | None:
        """Return name and width of the model in use: the embedder's of the user's own, else the settings'."""
        if self.embedder is None:
            return settings.embedding
        return self.embedder.model.name, self.embedder.model.dimensions


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The use cases, wired, with what interfaces need beside them."""

    settings: Settings
    database: Database
    embedder: Embedder
    parser: DocumentParser
    use_cases: UseCases
    distinct_names: RequireDistinctNames
    watch_folder: WatchFolder
    profiles: tuple[str, ...]
    file_roots: tuple[str, ...]
    purge_worker: PurgeWorker | None
    rollout_observers: RolloutObservers


@asynccontextmanager
async def open_container(settings: Settings, dsn: str, *, parts: Parts | None = None) -> AsyncIterator[Container]:
    """Open the database at ``dsn`` (the application role's) and wire the use cases.

    Raises ConfigurationError, StorageUnavailableError or IncompatibleEmbeddingsError.
    """
    parts = parts or Parts()
    require_names_of_their_own(parts.sources)
    async with AsyncExitStack() as stack:
        embedder = parts.embedder or make_embedder(settings)
        stack.push_async_callback(embedder.aclose)
        embedder = QueryCachingEmbedder(embedder=embedder, size=settings.query_cache_size)
        database = Database(
            dsn,
            options=DatabaseOptions(
                pool_size=settings.database_pool_size,
                pool_timeout_seconds=settings.database_pool_timeout_seconds,
                statement_timeout_ms=int(settings.database_statement_timeout_seconds * 1000),
            ),
        )
        stack.push_async_callback(database.close)
        await database.open()
        dense_is_out = embedder.model.dimensions == 0
        model = await active_model(database, configured=None if dense_is_out else embedder.model)
        channels = ChunkChannels(
            database,
            model=model,
            ef_search=settings.hnsw_ef_search,
            max_scan_tuples=settings.hnsw_max_scan_tuples,
        )
        statistics = StatisticsKeeper(refresh_if_stale=PostgresSearchStatistics(database=database).refresh_if_stale)
        stack.push_async_callback(statistics.aclose)
        lexical = LexicalChannel(
            database,
            options=LexicalOptions(
                ranking=settings.sparse_ranking,
                operator=settings.sparse_operator,
                budget=settings.sparse_budget,
                default_language=settings.default_language,
            ),
        )
        repository = PostgresDocumentRepository(
            database=database, channels=channels, lexical=lexical, statistics=statistics
        )
        reranker = parts.reranker or make_reranker(settings)
        if reranker is not None:
            stack.push_async_callback(reranker.aclose)
        files = make_files(settings, database)
        profiles = profiles_of(settings, model, extra_sources=tuple(parts.sources)) | dict(parts.profiles)
        plain_search = chunk_search(
            settings,
            sources={
                **chunk_sources(embedder, repository),
                **collection_sources(settings, database, embedder, model),
                GRAPH_FACTS: graph_source(settings, database, embedder, model),
                **({} if files.source is None else {GREP: files.source}),
                **parts.sources,
            },
            profiles=profiles,
            repository=repository,
            store=files.stored_with(PostgresCandidateStore(database, model=model)),
            fusion=parts.fusion,
            reranker=reranker,
        )
        rollout = planned_rollout(
            hybrid=settings.enable_hybrid_search,
            method=settings.fusion_method,
            shadow=settings.hybrid_shadow,
            percent=settings.hybrid_rollout_percent,
        )
        rollout_observers = RolloutObservers(rollout)
        shadow = ShadowSearch(
            search=plain_search,
            observers=rollout_observers,
            limits=ShadowLimits(
                max_running=max(1, settings.database_pool_size // CONNECTIONS_PER_SHADOW),
                timeout_seconds=settings.search_timeout_seconds,
                compared=min(COMPARED, settings.max_limit),
            ),
        )
        stack.push_async_callback(shadow.aclose)
        search = RolledOutSearch(search=plain_search, rollout=rollout, observers=rollout_observers, shadow=shadow)
        answerer = parts.answerer or make_answerer(settings, database)
        stack.push_async_callback(answerer.aclose)
        embed_pending = EmbedPending(
            embedder=embedder,
            backlogs=(
                PostgresEmbeddingBacklog(database=database, statistics=statistics),
                *(PostgresItemBacklog(database=database, tables=tables) for tables in WITH_VECTORS),
            ),
            cache=PostgresEmbeddingCache(database=database),
        )
        ingestion = make_ingestion(
            settings,
            database=database,
            repository=repository,
            statistics=statistics,
            embed_pending=None if dense_is_out else embed_pending,
        )
        languages = LangidDetector(default=settings.default_language)
        answer = AnswerQuery(
            search=search,
            answerer=answerer,
            languages=languages,
            limits=AnswerLimits(
                max_passages=settings.answer_max_passages, timeout_seconds=settings.answer_timeout_seconds
            ),
        )
        use_cases = UseCases(
            search=search,
            answer=make_conversation(settings, stack, database=database, answer=answer, languages=languages),
            context=make_context(settings, search),
            grep=files.grep,
            read_file=files.read,
            ingest=ingestion.ingest,
            ingest_folder=ingestion.ingest_folder,
            delete=DeleteDocument(repository=repository),
            restore=RestoreDocument(repository=repository, preparation=ingestion.preparation),
            documents=ListDocuments(repository=repository),
            collections=make_collections(
                database=database,
                repository=repository,
                preparation=ingestion.preparation,
                ingest=ingestion.ingest,
                search_timeout_seconds=settings.search_timeout_seconds,
            ),
            graph=make_graph(settings, stack, database=database),
            embed_pending=embed_pending,
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
            distinct_names=ingestion.distinct_names,
            watch_folder=ingestion.watch_folder,
            profiles=tuple(profiles),
            file_roots=files.roots,
            rollout_observers=rollout_observers,
            purge_worker=(
                None
                if settings.purge_deleted_after_days is None
                else PurgeWorker(repository=repository, older_than_days=settings.purge_deleted_after_days)
            ),
        )
