"""POST /search, as JSON or as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.http.layers.admission import CurrentSlot
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.bodies import read_json
from ragcorp.interface.http.protocol.descriptions import problems, request_body
from ragcorp.interface.http.protocol.disconnect import unless_client_leaves
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.http.protocol.request_id import request_id_of
from ragcorp.interface.http.search.schema import SearchBody, SearchResults
from ragcorp.interface.http.streams.event_stream import EVENT_STREAM, SEARCH_EVENTS, BegunWork, Event, EventStream
from ragcorp.interface.search_status import search_status
from ragcorp.interface.shapes.answers import degraded_documents
from ragcorp.interface.shapes.hydration import hydration_document
from ragcorp.interface.shapes.results import result_document

TOOL = "search"
"""What the status of a search calls it."""


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
            description=SEARCH_EVENTS,
            tags=["search"],
            response_model=SearchResults,
            responses={200: EVENT_STREAM, **problems(413, 415, 422, 503)},
            openapi_extra=request_body(SearchBody),
        )

    async def search(self, request: Request, principal: CurrentPrincipal, slot: CurrentSlot) -> Response:
        body = await read_json(request, SearchBody, self._limits)
        request_id = request_id_of(request.scope)
        if body.stream:
            slot.open_stream()
        searching = self._search.search(body.as_request(), principal=principal)
        if body.stream:
            work = await BegunWork.begin(searching)
            return EventStream(
                self._told(work, request_id),
                close=work.close,
                request_id=request_id,
                limits=self._limits,
                seconds=self._limits.request_timeout_seconds + self._limits.write_timeout_seconds,
            )
        response = await unless_client_leaves(request, searching)
        self._metrics.count_search(response)
        return json_response(search_results(response, request_id))

    async def _told(self, work: BegunWork[SearchResponse], request_id: str) -> AsyncGenerator[Event, None]:
        yield "status", {"status": "searching"}
        response = await work.result(seconds=self._limits.request_timeout_seconds)
        self._metrics.count_search(response)
        yield "status", {"status": "done", **found_status(response)}
        yield "search_results", search_results(response, request_id)


def search_results(response: SearchResponse, request_id: str) -> dict[str, Any]:
    """Return the JSON of SearchResults."""
    return {
        "request_id": request_id,
        "mode_used": response.mode_used,
        "degraded": degraded_documents(response.degraded),
        "results": [result_document(hit, explained=response.explanation is not None) for hit in response.hits],
        "next_cursor": response.next_cursor,
        "explanation": response.explanation,
        "facets": response.facets,
        "hydration": hydration_document(response.hydration),
    }


def found_status(response: SearchResponse) -> dict[str, Any]:
    """Return what a ``status`` event says of a search that is done."""
    status = search_status(TOOL, response)
    return {**status.document(), "chunks": status.passages}
