"""POST /documents/bulk: a document a line comes in, what became of it goes out, a line each."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ragcorp.application.document_preparation import require_external_id
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ingestion import IngestFailure, IngestRequest
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.bodies import entity_headers, require_media_type, too_large, upload_time
from ragcorp.interface.http.document_schema import BulkDocument
from ragcorp.interface.http.document_upload import document_of
from ragcorp.interface.http.json_body import parse_model
from ragcorp.interface.http.json_response import dumps
from ragcorp.interface.http.ndjson import lines
from ragcorp.interface.http.openapi import REF, content, problems
from ragcorp.interface.http.principal import CurrentPrincipal
from ragcorp.interface.http.problems import Problem, RequestRefusedError, problem_of
from ragcorp.interface.http.services import HttpLimits, HttpServices

logger = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
ACCEPTED = (NDJSON, "application/ndjson", "application/jsonl")
BATCH_DOCUMENTS = 64
BATCH_BYTES = 4 * 1024 * 1024

DESCRIPTION = """\
Each line is a document: `external_id` and the fields of PUT. Each is answered by a line
`{"line", "external_id", "status"}` or `{"line", "external_id", "error": {"code", "detail", "errors"}}`, and all of them
by a last one `{"summary": {"created", "updated", "unchanged", "failed"}}`: an answer without it broke off.
A bad line stops no other one. The same request may be sent again: what is stored already is `unchanged`.
"""

STALLED = Problem(
    status=408, code="request_timeout", detail="Nothing came for too long. What was answered so far is stored."
)

LINES_SCHEMA = {
    "type": "string",
    "description": "One JSON object a line.",
    "examples": ['{"line":1,"external_id":"a.md","status":"created"}\n{"summary":{"created":1,"failed":0}}\n'],
}


@dataclass(slots=True)
class _Batch:
    lines: list[int] = field(default_factory=list)
    requests: list[IngestRequest] = field(default_factory=list)
    size: int = 0

    @property
    def full(self) -> bool:
        return len(self.requests) >= BATCH_DOCUMENTS or self.size >= BATCH_BYTES


class TwoWayStream(StreamingResponse):
    """A response that streams while its request still does: it leaves the reading of the connection to its body."""

    def __init__(self, lines: AsyncGenerator[bytes, None], *, media_type: str) -> None:
        super().__init__(lines, media_type=media_type)
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        async with aclosing(self._lines):
            await self.stream_response(send)


class BulkRoutes:
    """Many documents over HTTP."""

    def __init__(self, *, services: HttpServices, limits: HttpLimits) -> None:
        self._services = services
        self._limits = limits

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/documents/bulk",
            self.bulk,
            methods=["POST"],
            operation_id="bulk_documents",
            summary="Store many documents",
            description=DESCRIPTION,
            tags=["documents"],
            response_class=Response,
            responses={200: content(NDJSON, LINES_SCHEMA, "What became of each."), **problems(415)},
            openapi_extra={
                "requestBody": {
                    "required": True,
                    "content": {
                        NDJSON: {
                            "schema": {"type": "string", "description": "One BulkDocument a line."},
                            "itemSchema": {"$ref": REF.format(model=BulkDocument.__name__)},
                        }
                    },
                }
            },
        )

    async def bulk(self, request: Request, principal: CurrentPrincipal) -> Response:
        require_media_type(entity_headers(request.scope), *ACCEPTED)
        chunks = self._chunks(request)
        # a caller that waits for "100 Continue" gets it with the first read, which must come before the answer's head
        async with upload_time(request, self._limits):
            first = await anext(chunks, b"")
        return TwoWayStream(self._answered(first, chunks, principal), media_type=NDJSON)

    async def _chunks(self, request: Request) -> AsyncIterator[bytes]:
        async with aclosing(request.stream()) as stream:
            while True:
                async with asyncio.timeout(self._limits.upload_timeout_seconds):
                    chunk = await anext(stream, None)
                if chunk is None:
                    return
                yield chunk

    async def _answered(
        self, first: bytes, chunks: AsyncIterator[bytes], principal: Principal
    ) -> AsyncGenerator[bytes, None]:
        """Read on while the answer waits to be taken: a caller that sends all before it reads must not lock both up."""
        answers: asyncio.Queue[bytes | None] = asyncio.Queue()
        reader = asyncio.create_task(self._store_all(first, chunks, principal, answers))
        try:
            while (line := await answers.get()) is not None:
                yield line
            await reader
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _store_all(
        self, first: bytes, chunks: AsyncIterator[bytes], principal: Principal, answers: asyncio.Queue[bytes | None]
    ) -> None:
        counts: Counter[str] = Counter(created=0, updated=0, unchanged=0, failed=0)

        def put(outcomes: Sequence[dict[str, Any]]) -> None:
            for outcome in outcomes:
                counts[outcome.get("status", "failed")] += 1
                answers.put_nowait(dumps(outcome) + b"\n")

        batch = _Batch()
        try:
            number = 0
            async for line in lines(_chained(first, chunks), limit=self._limits.max_body_bytes):
                number += 1
                if line is not None and not line.strip():
                    continue
                request = self._request(line)
                if isinstance(request, Problem):
                    put([_failed(number, None, request)])
                    continue
                batch.lines.append(number)
                batch.requests.append(request)
                batch.size += len(line or b"")
                if batch.full:
                    put(await self._store(batch, principal))
                    batch = _Batch()
            put(await self._store(batch, principal))
            answers.put_nowait(dumps({"summary": counts}) + b"\n")
        except TimeoutError:
            answers.put_nowait(dumps({"error": STALLED.as_line()}) + b"\n")
        except ClientDisconnect:
            logger.info("a bulk request broke off: its sender left")
        finally:
            answers.put_nowait(None)

    def _request(self, line: bytes | None) -> IngestRequest | Problem:
        try:
            if line is None:
                raise too_large(self._limits.max_body_bytes, "MAX_BODY_BYTES", field="line")
            body = parse_model(line, BulkDocument, max_depth=self._limits.max_json_depth, field="line")
            require_external_id(body.external_id)
            return document_of(body.external_id, body, default_language=self._services.default_language)
        except (RagcorpError, RequestRefusedError) as error:
            return problem_of(error)

    async def _store(self, batch: _Batch, principal: Principal) -> list[dict[str, Any]]:
        if not batch.requests:
            return []
        try:
            async with asyncio.timeout(self._limits.bulk_batch_timeout_seconds):
                outcomes = await self._services.ingest.execute_many(batch.requests, principal=principal)
        except Exception as error:  # the head is out, and a later batch may fare better: each line says what happened
            problem = problem_of(error)
            if problem.code == "internal":
                logger.exception("a batch of a bulk request failed")
            return [
                _failed(line, request.external_id, problem)
                for line, request in zip(batch.lines, batch.requests, strict=True)
            ]
        if any(not isinstance(outcome, IngestFailure) and outcome.pending for outcome in outcomes):
            self._services.wake_embedding()
        return [
            _failed(line, outcome.external_id, problem_of(outcome.error))
            if isinstance(outcome, IngestFailure)
            else {"line": line, "external_id": outcome.external_id, "status": outcome.status}
            for line, outcome in zip(batch.lines, outcomes, strict=True)
        ]


def _failed(line: int, external_id: str | None, problem: Problem) -> dict[str, Any]:
    return {"line": line, "external_id": external_id, "error": problem.as_line()}


async def _chained(first: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in chunks:
        yield chunk
