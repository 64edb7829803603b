"""POST /search."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search import SearchResponse
from ragcorp.interface.http.bodies import read_json
from ragcorp.interface.http.json_response import json_response
from ragcorp.interface.http.metrics import HttpMetrics
from ragcorp.interface.http.openapi import problems, request_body
from ragcorp.interface.http.principal import CurrentPrincipal
from ragcorp.interface.http.request_id import request_id_of
from ragcorp.interface.http.search_schema import SearchBody, SearchResults
from ragcorp.interface.http.services import HttpLimits
from ragcorp.interface.result_shape import result_document


class SearchRoutes:
    """Searches over HTTP."""

    def __init__(self, *, search: ChunkSearch, limits: HttpLimits, metrics: HttpMetrics) -> None:
        self._search = search
        self._limits = limits
        self._metrics = metrics

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/search",
            self.search,
            methods=["POST"],
            operation_id="search",
            summary="Search the passages",
            tags=["search"],
            response_model=SearchResults,
            responses=problems(413, 415, 422, 503),
            openapi_extra=request_body(SearchBody),
        )

    async def search(self, request: Request, principal: CurrentPrincipal) -> Response:
        body = await read_json(request, SearchBody, self._limits)
        response = await self._search.execute(body.as_request(), principal=principal)
        self._metrics.count_search(response)
        return json_response(search_results(response, request_id_of(request.scope)))


def search_results(response: SearchResponse, request_id: str) -> dict[str, Any]:
    """Return the JSON of SearchResults."""
    return {
        "request_id": request_id,
        "mode_used": response.mode_used,
        "degraded": degraded(response.degraded),
        "results": [result_document(hit, explained=response.explanation is not None) for hit in response.hits],
        "next_cursor": response.next_cursor,
        "explanation": response.explanation,
        "facets": response.facets,
    }


def degraded(reports: tuple[SourceReport, ...]) -> list[dict[str, Any]]:
    return [{"source": report.source, "reason": report.reason, "elapsed_ms": report.elapsed_ms} for report in reports]
