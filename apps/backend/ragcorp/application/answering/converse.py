"""Use case: answer within a conversation, which is a session of history."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ragcorp.application.answering.final_answer import whole_answer
from ragcorp.application.validation.item_drafts import checked_draft
from ragcorp.domain.answers import Answer, AskEvent, Searched
from ragcorp.domain.collections import (
    ABSTENTION,
    ANSWER,
    GENERATED,
    MAX_ITEM_CHARACTERS,
    QUESTION,
    TURN,
    Item,
    ItemDraft,
)
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import AnswererUnavailableError, RagcorpError, SourceUnavailableError
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.ports.models import QuestionRewriter
from ragcorp.domain.ports.observers import AnswererObserver
from ragcorp.domain.ports.text import LanguageDetector
from ragcorp.domain.ports.use_cases import QuestionAnswering
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.domain.text import follow_up
from ragcorp.domain.text.checks import clean_text, is_blank
from ragcorp.domain.text.utterances import Said, is_small_talk, kind_of

USER, ASSISTANT = "user", "assistant"
HISTORY = "history"

AFTER = timedelta(microseconds=1)
"""An answer stands right behind its question, whatever was asked meanwhile: PostgreSQL's times go no finer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLimits:
    """``turns`` are read before a question; each read, write or rewriting has its own time."""

    turns: int = 12
    storage_timeout_seconds: float = 1.0
    rewrite_timeout_seconds: float = 5.0
    max_query_characters: int = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    speaker: str
    kind: str
    text: str
    occurred_at: datetime
    sensitivity: Sensitivity


def utc_now() -> datetime:
    return datetime.now(UTC)


class Converse:
    """Stands before the answering of questions: rewrites a follow-up, and stores question and answer as turns.

    A request without ``conversation_id`` passes through. What fails here is named in ``degraded``; it fails no answer.
    ``admit`` runs before each question and may refuse it; ``observer`` notes whether the answerer replied.
    """

    def __init__(
        self,
        *,
        answer: QuestionAnswering,
        history: ItemRepository,
        languages: LanguageDetector,
        limits: ConversationLimits,
        rewriter: QuestionRewriter | None = None,
        admit: Callable[[], Awaitable[None]] | None = None,
        observer: AnswererObserver | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._answer = answer
        self._history = history
        self._languages = languages
        self._limits = limits
        self._rewriter = rewriter
        self._admit = admit
        self._observer = observer
        self._now = now
        self._last = datetime.min.replace(tzinfo=UTC)

    async def answer(self, request: SearchRequest, *, principal: Principal) -> Answer:
        """Return the whole answer. Raises what answering a question raises."""
        return await whole_answer(self.stream(request, principal=principal))

    async def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        """Yield what answering yields; the question is stored once it was searched for, the answer before it is given.

        A question whose answer breaks off stays in the conversation alone.
        """
        if self._admit is not None:
            await self._admit()
        try:
            async with aclosing(self._events(request, principal)) as events:
                async for event in events:
                    if isinstance(event, Answer) and self._observer is not None:
                        self._observer.answered()
                    yield event
        except AnswererUnavailableError as error:
            if self._observer is not None:
                self._observer.not_answered(error.reason)
            raise

    async def _events(self, request: SearchRequest, principal: Principal) -> AsyncGenerator[AskEvent]:
        session = request.conversation_id
        if session is None:
            async with aclosing(self._answer.stream(request, principal=principal)) as events:
                async for event in events:
                    yield event
            return
        asked_at = self._moment()
        degraded: list[SourceReport] = []
        question = await self._stand_alone(request.query, session, principal, degraded)
        changed = question if question != request.query else None
        level = _no_higher(Sensitivity.NORMAL, principal)
        stored = False
        async with aclosing(self._answer.stream(replace(request, query=question), principal=principal)) as events:
            async for event in events:
                if isinstance(event, Searched):
                    asked = _Turn(
                        speaker=USER,
                        kind=TURN if kind_of(request.query) is Said.STATEMENT else QUESTION,
                        text=request.query,
                        occurred_at=asked_at,
                        sensitivity=level,
                    )
                    stored = await self._store(asked, session, principal, degraded)
                    level = _highest(event.response, level)
                    yield replace(event, rewritten_query=changed)
                elif isinstance(event, Answer):
                    if stored:  # an answer to nothing is no conversation
                        said = _Turn(
                            speaker=ASSISTANT,
                            kind=ABSTENTION if event.abstained else ANSWER,
                            text=event.text,
                            occurred_at=asked_at + AFTER,
                            sensitivity=level,
                        )
                        await self._store(said, session, principal, degraded)
                    yield replace(event, degraded=(*event.degraded, *degraded), rewritten_query=changed)
                else:
                    yield event

    async def _stand_alone(
        self, question: str, session: str, principal: Principal, degraded: list[SourceReport]
    ) -> str:
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._limits.storage_timeout_seconds):
                turns = await self._history.latest_of_conversation(
                    session, principal=principal, limit=self._limits.turns
                )
        except (RagcorpError, TimeoutError) as error:
            degraded.append(_report(HISTORY, error, started))
            return question
        if not turns or is_blank(question) or is_small_talk(question):
            return question
        if len(question) > self._limits.max_query_characters:
            return question
        if self._rewriter is not None:
            started = time.monotonic()
            try:
                async with asyncio.timeout(self._limits.rewrite_timeout_seconds):
                    text = await self._rewriter.rewrite(question, turns)
                return text if len(text) <= self._limits.max_query_characters else question
            except (RagcorpError, TimeoutError) as error:
                degraded.append(_report(self._rewriter.name, error, started))
        return follow_up.rewritten(question, _questions(turns), max_characters=self._limits.max_query_characters)

    def _moment(self) -> datetime:
        """Return the present moment, later than any that was returned: what was asked later is listed later."""
        self._last = max(self._now(), self._last + 2 * AFTER)
        return self._last

    def _draft(self, turn: _Turn, session: str, principal: Principal) -> ItemDraft:
        draft = ItemDraft(
            text=clean_text(turn.text, field="text")[:MAX_ITEM_CHARACTERS],
            session=session,
            speaker=turn.speaker,
            attributes=DocumentAttributes(
                language=self._languages.detect(turn.text),
                artifact_type=turn.kind,
                sensitivity=turn.sensitivity,
                metadata={GENERATED: True} if turn.speaker == ASSISTANT else {},
                visibility_scope=VisibilityScope.PRIVATE,
                owner=principal.subject,
                occurred_at=turn.occurred_at,
            ),
        )
        return checked_draft(draft, principal=principal)

    async def _store(self, turn: _Turn, session: str, principal: Principal, degraded: list[SourceReport]) -> bool:
        """Store a turn; say whether it is stored."""
        started = time.monotonic()
        try:
            # outside the deadline: telling languages apart takes a while the first time
            draft = self._draft(turn, session, principal)
            async with asyncio.timeout(self._limits.storage_timeout_seconds):
                await self._history.save_many([draft], principal=principal)
        except (RagcorpError, TimeoutError) as error:
            if not any(report.source == HISTORY for report in degraded):
                degraded.append(_report(HISTORY, error, started))
            return False
        return True


def _questions(turns: Sequence[Item]) -> list[str]:
    return [turn.text for turn in turns if turn.speaker != ASSISTANT]


def _no_higher(level: Sensitivity, principal: Principal) -> Sensitivity:
    """A caller could not read a turn above the own clearance."""
    return min(level, principal.clearance)


def _highest(response: SearchResponse, level: Sensitivity) -> Sensitivity:
    """An answer is held as closely as the closest of the passages that it may be made from."""
    shown = () if response.hydration is None else response.hydration.entities
    found = [hit.chunk.sensitivity for hit in response.hits]
    return max([*found, *(entity.text.sensitivity for entity in shown)], default=level)


def _report(source: str, error: Exception, started: float) -> SourceReport:
    if isinstance(error, TimeoutError):
        outcome, reason = SourceOutcome.TIMEOUT, "timeout"
    else:
        outcome = SourceOutcome.FAILED
        reason = error.reason if isinstance(error, SourceUnavailableError) else getattr(error, "code", "failed")
    return SourceReport(
        source=source, outcome=outcome, elapsed_ms=round((time.monotonic() - started) * 1000, 3), reason=reason
    )
