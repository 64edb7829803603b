"""Builds the answers to questions, their conversations and the memory context."""

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.application.answering.cited_pages import CitedPages
from ragcorp.application.answering.conversations import ConversationLimits, Conversations
from ragcorp.application.answering.incomplete import IncompleteDocuments
from ragcorp.application.limits.token_budget import TokenBudget
from ragcorp.application.memory.load_context import ContextLimits, LoadContext
from ragcorp.application.status.model_health import ModelHealth
from ragcorp.domain.collections import Collection
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.infrastructure.language.detector import LangidDetector
from ragcorp.infrastructure.postgres.chunks.catalogue import PostgresPageTexts
from ragcorp.infrastructure.postgres.documents.unread import PostgresUnreadParts
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.main.settings.durations import REWRITE_TIMEOUT_SECONDS
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.base import Base, Parts
from ragcorp.main.wiring.models import make_answerer, make_rewriter


def make_context(settings: Settings, search: ChunkSearch) -> LoadContext:
    return LoadContext(
        search=search,
        limits=ContextLimits(
            default_limit=min(settings.default_result_limit, settings.max_limit),
            timeout_seconds=settings.context_load_timeout,
            max_characters=settings.max_memory_chars,
        ),
    )


def make_answer(
    base: Base, parts: Parts, *, search: ChunkSearch, budget: TokenBudget, health: ModelHealth
) -> AnswerQuery:
    """Return the answers to questions, alone or in conversations, within the token budget."""
    settings, database, tokens = base.settings, base.database, base.token_observers
    languages = LangidDetector(default=settings.default_language)
    rewriter = make_rewriter(settings, timeout_seconds=REWRITE_TIMEOUT_SECONDS, tokens=tokens)
    return AnswerQuery(
        search=search,
        answerer=base.closing(parts.answerer or make_answerer(settings, database, tokens=tokens)),
        languages=languages,
        pages=CitedPages(texts=PostgresPageTexts(database=database)),
        incomplete=IncompleteDocuments(unread=PostgresUnreadParts(database=database)),
        limits=AnswerLimits(
            max_passages=settings.answer_max_passages,
            max_limit=settings.max_limit,
            timeout_seconds=settings.answer_timeout_seconds,
        ),
        conversations=Conversations(
            history=PostgresItemRepository(database=database, collection=Collection.HISTORY),
            languages=languages,
            rewriter=None if rewriter is None else base.closing(rewriter),
            limits=ConversationLimits(
                rewrite_timeout_seconds=REWRITE_TIMEOUT_SECONDS, max_query_characters=settings.max_query_characters
            ),
        ),
        require_budget=budget.require,
        observer=health,
    )
