"""POST /documents/bulk: a document a line comes in, what became of it goes out, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.ingestion import IngestFailure, IngestRequest
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.documents.schema import BulkDocument
from ragcorp.interface.http.documents.upload import document_of
from ragcorp.interface.http.protocol.descriptions import REF, content, problems
from ragcorp.interface.http.protocol.json_body import parse_model
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.http.services import HttpServices
from ragcorp.interface.http.streams.line_stream import LINES_SCHEMA, NDJSON, LineHandler, LineOutcome, LineStream

BATCH_DOCUMENTS = 64

DESCRIPTION = """\
Each line is a document: `external_id` and the fields of PUT. Each is answered by a line
`{"line", "external_id", "status"}` or `{"line", "external_id", "error": {"code", "detail", "errors"}}`, and all of them
by a last one `{"summary": {"created", "updated", "unchanged", "failed"}}`: an answer without it broke off.
A bad line stops no other one, and a line of a name that came before is a later write of it. The same request may be
sent again: what is stored already is `unchanged`. Read the answer while you send: where more than 4 MB of it wait to be
read, no more lines are taken, and after a minute the connection closes. When you leave, the batch in hand is stored.
"""


class BulkRoutes:
    """Many documents over HTTP."""

    def __init__(self, *, services: HttpServices, limits: HttpLimits) -> None:
        self._services = services
        self._limits = limits
        self._stream = LineStream(limits)

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
        return await self._stream.respond(request, document_lines(self._services, self._limits, principal))


def document_lines(services: HttpServices, limits: HttpLimits, principal: Principal) -> LineHandler[IngestRequest]:
    """Return what reads and stores lines of documents."""

    def read(line: bytes) -> IngestRequest:
        body = parse_model(line, BulkDocument, max_depth=limits.max_json_depth, field="line")
        require_external_id(body.external_id)
        return document_of(body.external_id, body, default_language=services.default_language)

    async def store(requests: Sequence[IngestRequest]) -> list[LineOutcome]:
        outcomes = await services.ingest.ingest_many(requests, principal=principal)
        if any(not isinstance(outcome, IngestFailure) and outcome.pending for outcome in outcomes):
            services.wake_embedding()
        return [
            LineOutcome(external_id=outcome.external_id, error=outcome.error)
            if isinstance(outcome, IngestFailure)
            else LineOutcome(external_id=outcome.external_id, status=outcome.status)
            for outcome in outcomes
        ]

    return LineHandler(read=read, name_of=attrgetter("external_id"), store=store, batch_lines=BATCH_DOCUMENTS)
