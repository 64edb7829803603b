"""Outcome of the latest call to each model, taken from responses."""

from collections.abc import Iterable, Mapping

from ragcorp.application.resilience.source_reports import FAILURES
from ragcorp.application.retrieval.steps.reranking import STEP as RERANK
from ragcorp.application.status.report import ANSWERER
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.domain.search.sources import DENSE_SOURCES, FULL_TEXT_SOURCES


class ModelHealth:
    """Reasons of the latest failed calls. A dense source counts for the embedder if full text replied."""

    def __init__(self) -> None:
        self._failed: dict[str, str] = {}

    @property
    def failed(self) -> Mapping[str, str]:
        return self._failed

    def answered(self) -> None:
        self._failed.pop(ANSWERER, None)

    def not_answered(self, reason: str) -> None:
        self._failed[ANSWERER] = reason

    def search_ended(self, response: SearchResponse) -> None:
        self.reported(response.reports)

    def reported(self, reports: Iterable[SourceReport]) -> None:
        reports = tuple(reports)
        database_answered = any(report.answered and report.source in FULL_TEXT_SOURCES for report in reports)
        for report in reports:
            if report.answered:
                self._failed.pop(report.source, None)
            elif report.reason is None:
                continue
            elif report.source == RERANK or (
                report.source in DENSE_SOURCES and report.outcome in FAILURES and database_answered
            ):
                self._failed[report.source] = report.reason
