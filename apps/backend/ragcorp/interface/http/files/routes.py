"""POST /grep and POST /files/read: files that are searched and read where they lie."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.domain.files.values import GrepResult
from ragcorp.domain.ports.file_search import FileGrep, FileReading
from ragcorp.interface.http.files.schema import FileContent, GrepBody, GrepResults, ReadBody
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.bodies import allow, read_json
from ragcorp.interface.http.protocol.descriptions import problems, request_body
from ragcorp.interface.http.protocol.disconnect import unless_client_leaves
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.http.protocol.request_id import request_id_of
from ragcorp.interface.http.streams.event_stream import EVENT_STREAM, SEARCH_EVENTS, BegunWork, Event, EventStream
from ragcorp.interface.search_status import grep_status
from ragcorp.interface.shapes.files import file_document, grep_document

FILE_ERRORS = """\
An error's `detail` starts with its kind: `[ERROR: NOT_FOUND]`, `[ERROR: ACCESS_DENIED]` (with the names of the allowed
roots), `[ERROR: TOO_LARGE]`, `[ERROR: BINARY]` or `[ERROR: DECODE]`; 413, 415 and 422 then speak of the file, not of
the body.
"""


class FileRoutes:
    """Files over HTTP."""

    def __init__(self, *, grep: FileGrep, read_file: FileReading, limits: HttpLimits, metrics: HttpMetrics) -> None:
        self._grep = grep
        self._read_file = read_file
        self._limits = limits
        self._metrics = metrics

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/grep",
            self.grep,
            methods=["POST"],
            operation_id="grep",
            summary="Search the files",
            description=SEARCH_EVENTS,
            tags=["files"],
            response_model=GrepResults,
            responses={200: EVENT_STREAM, **problems(403, 413, 415, 422, 503)},
            openapi_extra=request_body(GrepBody),
        )
        router.add_api_route(
            "/files/read",
            self.read,
            methods=["POST"],
            operation_id="read_file",
            summary="Read a file",
            description=FILE_ERRORS,
            tags=["files"],
            response_model=FileContent,
            responses=problems(403, 404, 413, 415, 422, 503),
            openapi_extra=request_body(ReadBody),
        )

    async def grep(self, request: Request, principal: CurrentPrincipal) -> Response:
        body = await read_json(request, GrepBody, self._limits)
        request_id = request_id_of(request.scope)
        wanted = body.as_request()
        if body.stream:
            work = await BegunWork.begin(self._grep.grep(wanted, principal=principal))
            return EventStream(
                self._told(work, request_id),
                close=work.close,
                request_id=request_id,
                limits=self._limits,
                seconds=self._limits.grep_timeout_seconds + self._limits.write_timeout_seconds,
            )
        allow(request, self._limits.grep_timeout_seconds)
        result = await unless_client_leaves(request, self._grep.grep(wanted, principal=principal))
        self._metrics.count_grep(result)
        return json_response(_grep_json(result, request_id))

    async def _told(self, work: BegunWork[GrepResult], request_id: str) -> AsyncGenerator[Event, None]:
        yield "status", {"status": "searching"}
        result = await work.result(seconds=self._limits.grep_timeout_seconds)
        self._metrics.count_grep(result)
        yield "status", {"status": "done", **grep_status(result).document()}
        yield "search_results", _grep_json(result, request_id)

    async def read(self, request: Request, principal: CurrentPrincipal) -> Response:
        body = await read_json(request, ReadBody, self._limits)
        reading = self._read_file.read(
            body.path, principal=principal, line_start=body.line_start, line_end=body.line_end
        )
        return json_response(file_document(await unless_client_leaves(request, reading)))


def _grep_json(result: GrepResult, request_id: str) -> dict[str, Any]:
    return {"request_id": request_id, **grep_document(result)}
