"""Builds the memory context and the conversations of answers."""

from __future__ import annotations

from contextlib import AsyncExitStack

from ragcorp.application.answering.conversations import ConversationLimits, Conversations
from ragcorp.application.memory.load_context import ContextLimits, LoadContext
from ragcorp.domain.collections import Collection
from ragcorp.domain.ports.models import QuestionRewriter
from ragcorp.domain.ports.observers import TokenObserver
from ragcorp.domain.ports.text import LanguageDetector
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.question_rewriter import OpenAIQuestionRewriter
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.main.settings.schema import AnswerProvider, Settings

REWRITE_TIMEOUT_SECONDS = 5.0
"""After this time a question is rewritten without the model."""


def make_context(settings: Settings, search: ChunkSearch) -> LoadContext:
    return LoadContext(
        search=search,
        limits=ContextLimits(
            default_limit=min(settings.default_result_limit, settings.max_limit),
            timeout_seconds=settings.context_load_timeout,
            max_characters=settings.max_memory_chars,
        ),
    )


def make_conversations(
    settings: Settings,
    stack: AsyncExitStack,
    *,
    database: Database,
    languages: LanguageDetector,
    tokens: TokenObserver,
) -> Conversations:
    """Return the conversations; ``stack`` closes the client of the language model, if there is one."""
    rewriter = make_rewriter(settings, tokens=tokens)
    if rewriter is not None:
        stack.push_async_callback(rewriter.aclose)
    return Conversations(
        history=PostgresItemRepository(database=database, collection=Collection.HISTORY),
        languages=languages,
        rewriter=rewriter,
        limits=ConversationLimits(
            rewrite_timeout_seconds=REWRITE_TIMEOUT_SECONDS, max_query_characters=settings.max_query_characters
        ),
    )


def make_rewriter(settings: Settings, *, tokens: TokenObserver) -> QuestionRewriter | None:
    """Return the language model as a rewriter, None where answers are extractive."""
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return None
    return OpenAIQuestionRewriter(
        endpoint=Endpoint(
            base_url=settings.openai_base_url,
            api_key=settings.openai_api_key.get_secret_value(),
            timeout_seconds=REWRITE_TIMEOUT_SECONDS,
            max_retries=0,
        ),
        model=settings.answer_model,
        tokens=tokens,
    )
