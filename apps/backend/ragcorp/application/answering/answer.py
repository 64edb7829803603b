"""Use case: answer a question from the documents, with citations, or abstain."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from ragcorp.application.answering.answer_text import AnswerText, neutral_piece
from ragcorp.application.answering.cited_pages import CitedPages
from ragcorp.application.answering.conversations import Conversations
from ragcorp.application.answering.incomplete import MAX_DOCUMENTS, IncompleteDocuments
from ragcorp.application.hydration.passages import hydrated_chunks, not_repeated
from ragcorp.domain.answers import (
    Answer,
    AnswerDelta,
    AnswerEvent,
    AnswerFinished,
    AnswerPrompt,
    AskEvent,
    Citation,
    IncompleteDocument,
    Passage,
    QuotedPiece,
    Searched,
)
from ragcorp.domain.citations.checks import best_quote, cited_lines, cited_numbers
from ragcorp.domain.citations.quoting import harmless
from ragcorp.domain.collections import GENERATED
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import AnswererUnavailableError, InvalidInputError
from ragcorp.domain.ports.models import Answerer
from ragcorp.domain.ports.observers import AnswererObserver
from ragcorp.domain.ports.text import LanguageDetector
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.domain.text.neutral_text import neutral_name
from ragcorp.tracing import Span

ABSTENTIONS = {
    "es": "No encuentro la respuesta en los documentos.",
    "en": "I cannot find the answer in the documents.",
    "pt": "Não encontro a resposta nos documentos.",
    "fr": "Je ne trouve pas la réponse dans les documents.",
    "it": "Non trovo la risposta nei documenti.",
    "de": "Ich finde die Antwort nicht in den Dokumenten.",
    "ca": "No trobo la resposta als documents.",
}
"""The sentence of an abstention, by ISO 639-1 code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLimits:
    """``max_passages`` bounds what the answerer reads, ``max_limit`` what a request may name as ``limit``."""

    max_passages: int = 10
    max_limit: int = 50
    max_context_tokens: int = 6000
    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerQuery:
    """Searches, answers from the passages and checks the citations. ``require_budget`` raises if no tokens are left."""

    search: ChunkSearch
    answerer: Answerer
    languages: LanguageDetector
    pages: CitedPages
    incomplete: IncompleteDocuments | None = None
    limits: AnswerLimits
    conversations: Conversations | None = None
    require_budget: Callable[[], Awaitable[None]] | None = None
    observer: AnswererObserver | None = None

    async def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        """Yield ``Searched``, text that is safe to show, and last the ``Answer``. Raises as search and answerer do."""
        if self.require_budget is not None:
            await self.require_budget()
        exchange = None
        if self.conversations is not None and request.conversation_id is not None:
            exchange = await self.conversations.begin(request.query, request.conversation_id, principal=principal)
            request = replace(request, query=exchange.question)
        response = await self._search_results(request, principal)
        if exchange is not None:
            await exchange.store_question(response)
        yield Searched(response=response, rewritten_query=None if exchange is None else exchange.rewritten_query)
        passages = self._passages(response)
        draft = _Draft(passages)
        finished = AnswerFinished(abstained=True)
        language = self.languages.detect(request.query)
        if passages:
            prompt = AnswerPrompt(
                question=request.query, language=language, workspace=principal.workspace, passages=passages
            )
            deadline = time.monotonic() + self.limits.timeout_seconds
            try:
                with Span("answer", model=self.answerer.name, passages=len(passages)) as span:
                    async with aclosing(self.answerer.answer(prompt)) as events:
                        while not isinstance(event := await _next(events, deadline), AnswerFinished):
                            if shown := draft.add(event):
                                yield AnswerDelta(text=shown)
                        finished = event
                    span.note(abstained=finished.abstained, **finished.usage)
            except AnswererUnavailableError as error:
                if self.observer is not None:
                    self.observer.not_answered(error.reason)
                raise
            if (shown := draft.finish()) and not finished.abstained:
                yield AnswerDelta(text=shown)
        answer = await self._checked_answer(draft, finished, language, response, principal)
        if self.observer is not None:
            self.observer.answered()
        yield answer if exchange is None else await exchange.store_answer(answer)

    async def _search_results(self, request: SearchRequest, principal: Principal) -> SearchResponse:
        if request.limit > self.limits.max_limit:
            raise InvalidInputError.out_of_range(
                "limit", f"1 to {self.limits.max_limit}", remedy="Ask for fewer passages."
            )
        return await self.search.search(
            replace(request, limit=min(request.limit, self.limits.max_passages)), principal=principal
        )

    def _passages(self, response: SearchResponse) -> tuple[Passage, ...]:
        """Return the chunks that a turn of an episode shows, which have their own budget, then the results."""
        hydrated = hydrated_chunks(response.hydration)
        chunks: list[Chunk] = []
        tokens = 0
        for chunk in not_repeated((hit.chunk for hit in response.hits), hydrated):
            if chunk.metadata.get(GENERATED) is True and not chunk.of_document:
                continue  # an earlier answer is no evidence for this one
            tokens += len(chunk.content) // 3
            if chunks and tokens > self.limits.max_context_tokens:
                break
            chunks.append(chunk)
        return tuple(Passage(n=n, chunk=chunk) for n, chunk in enumerate((*hydrated, *chunks), start=1))

    async def _checked_answer(
        self, draft: _Draft, finished: AnswerFinished, language: str, response: SearchResponse, principal: Principal
    ) -> Answer:
        cited = () if finished.abstained else draft.cited()
        pages = await self.pages.find([(passage.chunk, quotes) for passage, quotes in cited], principal=principal)
        incomplete: tuple[IncompleteDocument, ...] = ()
        if self.incomplete is not None:
            incomplete = await self.incomplete.find(
                [passage.chunk for passage, _ in cited] or [hit.chunk for hit in response.hits],
                principal=principal,
                limit=None if cited else MAX_DOCUMENTS,
            )
        return Answer(
            text=draft.text if cited else abstention(language),
            abstained=not cited,
            citations=tuple(_citation(*of_passage, page) for of_passage, page in zip(cited, pages, strict=True)),
            degraded=response.degraded,
            usage=finished.usage,
            hydration=response.hydration,
            incomplete=incomplete,
        )


class _Draft:
    """Assembles an answer from the answerer's pieces: the text that is safe to show, and the quotes that it cites."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.text = ""
        self._by_number = {passage.n: passage for passage in passages}
        self._sources = [passage.chunk.content for passage in passages]
        self._model_text = AnswerText(allowed=frozenset(self._by_number), sources=self._sources)
        self._written = ""
        self._quotes: dict[int, list[str]] = {}

    def add(self, piece: AnswerDelta | QuotedPiece) -> str:
        """Return the text that may be shown now."""
        if isinstance(piece, AnswerDelta):
            return self._write(self._model_text.feed(piece.text))
        if piece.n not in self._by_number:
            raise AnswererUnavailableError(
                "The answer cites a passage that does not exist.", reason="bad_response", remedy="Try again."
            )
        self._quotes.setdefault(piece.n, []).append(piece.quote)
        before = " " if self.text else ""
        shown = f"{before}{neutral_piece(piece.text, sources=self._sources)} [{piece.n}]"
        self.text += shown
        return shown

    def finish(self) -> str:
        return self._write(self._model_text.finish())

    def cited(self) -> Sequence[tuple[Passage, Sequence[str]]]:
        """Return each cited passage once, in the order of its citations, with the quotes behind them."""
        passages = [self._by_number[n] for n in dict.fromkeys((*self._quotes, *cited_numbers(self._written)))]
        return [
            (passage, self._quotes.get(passage.n) or [best_quote(self.text, passage.n, passage.chunk.content)])
            for passage in passages
        ]

    def _write(self, text: str) -> str:
        self.text += text
        self._written += text
        return text


def abstention(language: str) -> str:
    """Return the sentence for an ISO 639-1 code, in Spanish for a language that is not listed."""
    return ABSTENTIONS.get(language, ABSTENTIONS["es"])


async def _next(events: AsyncIterator[AnswerEvent], deadline: float) -> AnswerEvent:
    try:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            return await anext(events)
    except TimeoutError:
        raise AnswererUnavailableError(
            "The language model took too long.", reason="timeout", remedy="Try again, or raise ANSWER_TIMEOUT_SECONDS."
        ) from None
    except StopAsyncIteration:
        raise AnswererUnavailableError("The answer broke off.", reason="cut", remedy="Try again.") from None


def _citation(passage: Passage, quotes: Sequence[str], page: int | None) -> Citation:
    chunk = passage.chunk
    line_start, line_end = cited_lines(chunk, quotes)
    return Citation(
        n=passage.n,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        external_id=chunk.external_id,
        title=harmless(chunk.shown_title) or neutral_name(chunk.speaker or ""),
        quote=" … ".join(dict.fromkeys(map(harmless, quotes))),
        path=chunk.source_path,
        line_start=line_start,
        line_end=line_end,
        page=page,
        recognition_confidence=chunk.recognition_confidence,
        collection=chunk.collection,
    )
