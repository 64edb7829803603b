"""Outcome of the latest call to each model, taken from responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragcorp.application.resilience.degradation_log import FAILURES
from ragcorp.application.retrieval.steps.reranking import STEP as RERANK
from ragcorp.application.status.degradation_messages import ANSWERER
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.domain.search.sources import DENSE_SOURCES, FULL_TEXT_SOURCES


class LastCalls:
    """The reason why the latest call of a model failed, by model.

    Failures of the embedder are under the sources that need it. They are recorded only if a full-text source, which
    needs nothing but the database, has answered: otherwise the database may be the cause.
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
        given = tuple(reports)
        database_answered = any(report.answered and report.source in FULL_TEXT_SOURCES for report in given)
        for report in given:
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
