"""POST /grep and POST /files/read: search and read files where they are stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from starlette.responses import Response

from ragcorp.domain.files.values import GrepResult
from ragcorp.interface.http.call import Call, CurrentCall, operations
from ragcorp.interface.http.files.schema import GrepBody, ReadBody
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.streams.event_stream import EVENT_STREAM, SEARCH_EVENTS, BegunWork, Event, EventStream
from ragcorp.interface.shapes.files import FileContent, GrepResults, file_document, grep_document

FILE_ERRORS = """\
An error's `detail` starts with its kind: `[ERROR: NOT_FOUND]`, `[ERROR: ACCESS_DENIED]` (with the names of the allowed
roots), `[ERROR: TOO_LARGE]`, `[ERROR: BINARY]` or `[ERROR: DECODE]`; 413, 415 and 422 then speak of the file, not of
the body.
"""

router = operations("files")


@router.post(
    "/grep",
    summary="Search the files",
    description=SEARCH_EVENTS,
    response_model=GrepResults,
    responses={200: EVENT_STREAM, **problems(403, 413, 415, 422, 503)},
)
async def grep(body: GrepBody, call: CurrentCall) -> Response:
    limits = call.limits
    searching = call.use_cases.grep.grep(body.as_request(), principal=call.principal)
    if body.stream:
        work = await BegunWork.begin(searching)
        return EventStream(
            _events(work, call),
            close=work.close,
            request_id=call.request_id,
            limits=limits,
            seconds=limits.grep_timeout_seconds + limits.write_timeout_seconds,
        )
    call.allow(limits.grep_timeout_seconds)
    return json_response(_results(await call.unless_client_leaves(searching), call))


@router.post(
    "/files/read",
    summary="Read a file",
    description=FILE_ERRORS,
    response_model=FileContent,
    responses=problems(403, 404, 413, 415, 422, 503),
)
async def read_file(body: ReadBody, call: CurrentCall) -> Response:
    reading = call.use_cases.read_file.read(
        body.path, principal=call.principal, line_start=body.line_start, line_end=body.line_end
    )
    return json_response(file_document(await call.unless_client_leaves(reading)))


async def _events(work: BegunWork[GrepResult], call: Call) -> AsyncGenerator[Event, None]:
    yield "status", {"status": "searching"}
    result = await work.result(seconds=call.limits.grep_timeout_seconds)
    results = _results(result, call)
    yield "status", {"status": "done", **results["status"]}
    yield "search_results", results


def _results(result: GrepResult, call: Call) -> GrepResults:
    call.metrics.count_grep(result)
    return {"request_id": call.request_id, **grep_document(result)}
