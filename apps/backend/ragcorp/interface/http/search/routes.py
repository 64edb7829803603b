"""POST /search, as JSON or as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from starlette.responses import Response

from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.http.call import Call, CurrentCall, operations
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.search.schema import SearchBody
from ragcorp.interface.http.streams.event_stream import EVENT_STREAM, SEARCH_EVENTS, BegunWork, Event, EventStream
from ragcorp.interface.shapes.search import SearchResults, search_results
from ragcorp.interface.shapes.search_status import search_status

router = operations("search")


@router.post(
    "/search",
    summary="Search the passages",
    description=SEARCH_EVENTS,
    response_model=SearchResults,
    responses={200: EVENT_STREAM, **problems(413, 415, 422, 503)},
)
async def search(body: SearchBody, call: CurrentCall) -> Response:
    if body.stream:
        call.slot.open_stream()
    searching = call.use_cases.search.search(body.as_request(), principal=call.principal)
    if body.stream:
        work = await BegunWork.begin(searching)
        return EventStream(
            _events(work, call),
            close=work.close,
            request_id=call.request_id,
            limits=call.limits,
            seconds=call.limits.request_timeout_seconds + call.limits.write_timeout_seconds,
        )
    response = await call.unless_client_leaves(searching)
    call.metrics.count_search(response)
    return json_response(search_results(response, request_id=call.request_id))


async def _events(work: BegunWork[SearchResponse], call: Call) -> AsyncGenerator[Event, None]:
    yield "status", {"status": "searching"}
    response = await work.result(seconds=call.limits.request_timeout_seconds)
    call.metrics.count_search(response)
    yield "status", {"status": "done", **search_event(response)}
    yield "search_results", search_results(response, request_id=call.request_id)


def search_event(response: SearchResponse) -> dict[str, Any]:
    """Return the data of a ``status`` event after a search."""
    status = search_status("search", response)
    return {**status, "chunks": status["passages"]}
