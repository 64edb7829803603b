"""What became of the last call of the models, as far as answers told of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing

from ragcorp.application.answering.final_answer import whole_answer
from ragcorp.application.resilience.degradation_log import FAILURES
from ragcorp.application.retrieval.steps.reranking import STEP as RERANK
from ragcorp.application.status.degradation_messages import ANSWERER
from ragcorp.domain.answers import Answer, AskEvent, Searched
from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.domain.ports.use_cases import ChunkSearch, QuestionAnswering
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.domain.search.sources import DENSE_SOURCES, FULL_TEXT_SOURCES


class LastCalls:
    """Why the last call of a model failed, by model; one that did well, or was never asked, is not in it.

    The embedder's are by the sources that need it. Where the database may be at fault instead, nothing is noted: a
    source by text, which needs the database alone, has to have answered.
    """

    def __init__(self) -> None:
        self._failed: dict[str, str] = {}

    @property
    def failed(self) -> Mapping[str, str]:
        return self._failed

    def answered(self) -> None:
        self._failed.pop(ANSWERER, None)

    def not_answered(self, reason: str) -> None:
        self._failed[ANSWERER] = reason

    def reported(self, reports: Iterable[SourceReport]) -> None:
        told = tuple(reports)
        database_answered = any(report.answered and report.source in FULL_TEXT_SOURCES for report in told)
        for report in told:
            if report.answered:
                self._failed.pop(report.source, None)
            elif report.reason is None:
                continue
            elif report.source == RERANK or (
                report.source in DENSE_SOURCES and report.outcome in FAILURES and database_answered
            ):
                self._failed[report.source] = report.reason


class NotedSearch:
    """The port ChunkSearch; the calls are noted."""

    def __init__(self, *, search: ChunkSearch, calls: LastCalls) -> None:
        self._search = search
        self._calls = calls

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        response = await self._search.search(request, principal=principal)
        self._calls.reported(response.reports)
        return response


class NotedAnswers:
    """The port QuestionAnswering; the calls are noted."""

    def __init__(self, *, answer: QuestionAnswering, calls: LastCalls) -> None:
        self._answer = answer
        self._calls = calls

    async def answer(self, request: SearchRequest, *, principal: Principal) -> Answer:
        return await whole_answer(self.stream(request, principal=principal))

    async def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        async with aclosing(self._answer.stream(request, principal=principal)) as events:
            try:
                async for event in events:
                    if isinstance(event, Searched):
                        self._calls.reported(event.response.reports)
                    elif isinstance(event, Answer):
                        self._calls.answered()
                    yield event
            except AnswererUnavailableError as error:
                self._calls.not_answered(error.reason)
                raise
