"""Conversations, which are sessions of history: follow-up questions, and the turns that are stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ragcorp.application.resilience.source_reports import failure_report
from ragcorp.application.validation.item_drafts import checked_draft
from ragcorp.domain.answers import Answer
from ragcorp.domain.collections import ABSTENTION, ANSWER, GENERATED, MAX_ITEM_CHARACTERS, QUESTION, TURN, ItemDraft
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.ports.models import QuestionRewriter
from ragcorp.domain.ports.text import LanguageDetector
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.domain.text import follow_up
from ragcorp.domain.text.checks import clean_text, is_blank
from ragcorp.domain.text.utterances import UtteranceKind, is_small_talk, kind_of

USER, ASSISTANT = "user", "assistant"
HISTORY = "history"

AFTER = timedelta(microseconds=1)
"""Time between a question and its answer, so that no other turn comes between: PostgreSQL's times are no finer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLimits:
    """``turns`` is the number of earlier turns that are read. Every read, write and rewriting has its own deadline."""

    turns: int = 12
    storage_timeout_seconds: float = 1.0
    rewrite_timeout_seconds: float = 5.0
    max_query_characters: int = 2000


class Conversations:
    """Turns follow-up questions into questions that stand alone, and stores questions and answers as turns."""

    def __init__(
        self,
        *,
        history: ItemRepository,
        languages: LanguageDetector,
        limits: ConversationLimits,
        rewriter: QuestionRewriter | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._history = history
        self._languages = languages
        self._limits = limits
        self._rewriter = rewriter
        self._now = now
        self._last = datetime.min.replace(tzinfo=UTC)

    async def begin(self, query: str, session: str, *, principal: Principal) -> Exchange:
        """Return the exchange that ``query`` opens, with the question to search for."""
        received_at = self._moment()
        degraded: list[SourceReport] = []
        return Exchange(
            conversations=self,
            query=query,
            question=await self._standalone(query, session, principal, degraded),
            session=session,
            principal=principal,
            received_at=received_at,
            sensitivity=min(Sensitivity.NORMAL, principal.clearance),  # callers cannot read turns above their clearance
            degraded=degraded,
        )

    async def _standalone(self, question: str, session: str, principal: Principal, degraded: list[SourceReport]) -> str:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._limits.storage_timeout_seconds):
                turns = await self._history.latest_of_conversation(
                    session, principal=principal, limit=self._limits.turns
                )
        except (RagcorpError, TimeoutError) as error:
            degraded.append(failure_report(HISTORY, error, started))
            return question
        if not turns or is_blank(question) or is_small_talk(question):
            return question
        if len(question) > self._limits.max_query_characters:
            return question
        if self._rewriter is not None:
            started = time.perf_counter()
            try:
                async with asyncio.timeout(self._limits.rewrite_timeout_seconds):
                    text = await self._rewriter.rewrite(question, turns)
                return text if len(text) <= self._limits.max_query_characters else question
            except (RagcorpError, TimeoutError) as error:
                degraded.append(failure_report(self._rewriter.name, error, started))
        questions = [turn.text for turn in turns if turn.speaker != ASSISTANT]
        return follow_up.rewritten(question, questions, max_characters=self._limits.max_query_characters)

    def _moment(self) -> datetime:
        """Return the present moment, but later than any returned before, so that turns keep their order."""
        self._last = max(self._now(), self._last + 2 * AFTER)
        return self._last

    async def store_turn(
        self, exchange: Exchange, text: str, *, speaker: str, kind: str, occurred_at: datetime
    ) -> bool:
        """Store a turn. Return whether it is stored."""
        started = time.perf_counter()
        try:
            # before the deadline begins: the first detection of a language is slow
            draft = checked_draft(
                ItemDraft(
                    text=clean_text(text, field="text")[:MAX_ITEM_CHARACTERS],
                    session=exchange.session,
                    speaker=speaker,
                    attributes=DocumentAttributes(
                        language=self._languages.detect(text),
                        artifact_type=kind,
                        sensitivity=exchange.sensitivity,
                        metadata={GENERATED: True} if speaker == ASSISTANT else {},
                        visibility_scope=VisibilityScope.PRIVATE,
                        owner=exchange.principal.subject,
                        occurred_at=occurred_at,
                    ),
                ),
                principal=exchange.principal,
            )
            async with asyncio.timeout(self._limits.storage_timeout_seconds):
                await self._history.save_many([draft], principal=exchange.principal)
        except (RagcorpError, TimeoutError) as error:
            if not any(report.source == HISTORY for report in exchange.degraded):
                exchange.degraded.append(failure_report(HISTORY, error, started))
            return False
        return True


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A question, as asked (``query``) and as searched (``question``), and its answer. Failures go to ``degraded``."""

    conversations: Conversations
    query: str
    question: str
    session: str
    principal: Principal
    received_at: datetime
    sensitivity: Sensitivity
    degraded: list[SourceReport]
    stored: bool = False

    @property
    def rewritten_query(self) -> str | None:
        return self.question if self.question != self.query else None

    async def store_question(self, response: SearchResponse) -> None:
        """Store the caller's words, once the search has accepted the question."""
        kind = TURN if kind_of(self.query) is UtteranceKind.STATEMENT else QUESTION
        self.stored = await self.conversations.store_turn(
            self, self.query, speaker=USER, kind=kind, occurred_at=self.received_at
        )
        self.sensitivity = _highest(response, self.sensitivity)

    async def store_answer(self, answer: Answer) -> Answer:
        """Store the answer if its question is stored. Return it with the rewritten question and the failures."""
        if self.stored:
            kind = ABSTENTION if answer.abstained else ANSWER
            await self.conversations.store_turn(
                self, answer.text, speaker=ASSISTANT, kind=kind, occurred_at=self.received_at + AFTER
            )
        return replace(answer, degraded=(*answer.degraded, *self.degraded), rewritten_query=self.rewritten_query)


def _highest(response: SearchResponse, level: Sensitivity) -> Sensitivity:
    """Return the highest sensitivity of the passages that the answer may rest on: the answer gets it too."""
    shown = () if response.hydration is None else response.hydration.entities
    levels = [hit.chunk.sensitivity for hit in response.hits]
    return max([*levels, *(entity.text.sensitivity for entity in shown)], default=level)
