"""Use case: answer a question from the documents, with citations, or abstain."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from ragcorp.application.answering.abstention import abstention
from ragcorp.application.answering.answer_text import AnswerText
from ragcorp.application.answering.cited_pages import CitedPages
from ragcorp.application.answering.final_answer import whole_answer
from ragcorp.application.hydration.passages import hydrated_chunks, not_repeated
from ragcorp.domain.answers import (
    Answer,
    AnswerDelta,
    AnswerFinished,
    AnswerPrompt,
    AskEvent,
    Citation,
    Passage,
    Searched,
)
from ragcorp.domain.citations.checks import best_quote, cited_lines, cited_numbers
from ragcorp.domain.citations.quoting import harmless
from ragcorp.domain.collections import GENERATED
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import AnswererUnavailableError, InvalidInputError
from ragcorp.domain.ports.models import Answerer
from ragcorp.domain.ports.text import LanguageDetector
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.domain.text.speakers import neutral_name
from ragcorp.tracing import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLimits:
    """``max_passages`` bounds what the answerer reads; ``timeout_seconds`` is for the whole answer.

    A request may name a ``limit`` up to ``max_limit``, as a search may.
    """

    max_passages: int = 10
    max_limit: int = 50
    max_context_tokens: int = 6000
    timeout_seconds: float = 60.0


class AnswerQuery:
    """Searches, lets the answerer write from the passages, and checks what it cites."""

    def __init__(
        self,
        *,
        search: ChunkSearch,
        answerer: Answerer,
        languages: LanguageDetector,
        pages: CitedPages,
        limits: AnswerLimits,
    ) -> None:
        self._search = search
        self._answerer = answerer
        self._languages = languages
        self._pages = pages
        self._limits = limits

    async def answer(self, request: SearchRequest, *, principal: Principal) -> Answer:
        """Return the whole answer. Raises what ``SearchChunks`` raises, and AnswererUnavailableError."""
        return await whole_answer(self.stream(request, principal=principal))

    async def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        """Yield ``Searched``, text deltas that are safe to show, and last the ``Answer``: the deltas, put together."""
        if request.limit > self._limits.max_limit:
            raise InvalidInputError(
                "limit is out of range.",
                field="limit",
                limit=f"1 to {self._limits.max_limit}",
                remedy="Ask for fewer passages.",
            )
        response = await self._search.search(
            replace(request, limit=min(request.limit, self._limits.max_passages)), principal=principal
        )
        yield Searched(response=response)
        language = self._languages.detect(request.query)
        passages = self._passages(response)
        if not passages:
            yield self._abstained(language, response)
            return
        prompt = AnswerPrompt(
            question=request.query, language=language, workspace=principal.workspace, passages=passages
        )
        checked = AnswerText(
            allowed=frozenset(passage.n for passage in passages),
            sources=[passage.chunk.content for passage in passages],
        )
        text: list[str] = []
        deadline = time.monotonic() + self._limits.timeout_seconds
        with Span("answer", model=self._answerer.name, passages=len(passages)) as span:
            async with aclosing(self._answerer.answer(prompt)) as events:
                while not isinstance(event := await _next(events, deadline), AnswerFinished):
                    if piece := checked.feed(event.text):
                        text.append(piece)
                        yield AnswerDelta(text=piece)
                finished = event
            span.note(abstained=finished.abstained, **finished.usage)
        if piece := checked.finish():
            text.append(piece)
            if not finished.abstained:
                yield AnswerDelta(text=piece)
        yield await self._checked_answer("".join(text), finished, passages, language, response, principal)

    def _passages(self, response: SearchResponse) -> tuple[Passage, ...]:
        """Return what a turn of an episode shows, under its own budget, then what was found."""
        hydrated = hydrated_chunks(response.hydration)
        found: list[Chunk] = []
        tokens = 0
        for chunk in not_repeated((hit.chunk for hit in response.hits), hydrated):
            if chunk.metadata.get(GENERATED) is True and not chunk.of_document:
                continue  # what was answered before must not prove itself
            tokens += len(chunk.content) // 3
            if found and tokens > self._limits.max_context_tokens:
                break
            found.append(chunk)
        return tuple(Passage(n=n, chunk=chunk) for n, chunk in enumerate((*hydrated, *found), start=1))

    def _abstained(self, language: str, response: SearchResponse, usage: Mapping[str, int] | None = None) -> Answer:
        return Answer(
            text=abstention(language),
            abstained=True,
            citations=(),
            degraded=response.degraded,
            usage=usage or {},
            hydration=response.hydration,
        )

    async def _checked_answer(
        self,
        text: str,
        finished: AnswerFinished,
        passages: Sequence[Passage],
        language: str,
        response: SearchResponse,
        principal: Principal,
    ) -> Answer:
        numbers = cited_numbers(text)
        # an answer that cites nothing rests on nothing
        if finished.abstained or not numbers:
            return self._abstained(language, response, finished.usage)
        by_number = {passage.n: passage for passage in passages}
        quotes: dict[int, list[str]] = {}
        for quote in finished.quotes:
            quotes.setdefault(quote.n, []).append(quote.text)
        cited = [by_number[n] for n in numbers]
        quoted = [quotes.get(each.n) or [best_quote(text, each.n, each.chunk.content)] for each in cited]
        pages = await self._pages.find(
            [(each.chunk, of_each) for each, of_each in zip(cited, quoted, strict=True)], principal=principal
        )
        return Answer(
            text=text,
            abstained=False,
            citations=tuple(map(_citation, cited, quoted, pages)),
            degraded=response.degraded,
            usage=finished.usage,
            hydration=response.hydration,
        )


async def _next(events: AsyncIterator[AnswerDelta | AnswerFinished], deadline: float) -> AnswerDelta | AnswerFinished:
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
        collection=chunk.collection,
    )
