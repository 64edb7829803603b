"""POST /documents/bulk: one document a line in, one outcome a line out."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from starlette.responses import Response

from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.ingestion import IngestFailure, IngestRequest
from ragcorp.interface.http.call import Call, CurrentCall, operations
from ragcorp.interface.http.documents.schema import BulkDocument
from ragcorp.interface.http.documents.upload import document_of
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.json_body import parse_model
from ragcorp.interface.http.streams.line_stream import OUTCOMES, LineHandler, LineOutcome, LineStream, line_body

BATCH_DOCUMENTS = 64

DESCRIPTION = """\
Each line is a document: `external_id` and the fields of PUT. Each is answered by a line
`{"line", "external_id", "status"}` or `{"line", "external_id", "error": {"code", "detail", "errors"}}`, and all of them
by a last one `{"summary": {"created", "updated", "unchanged", "failed"}}`: an answer without it broke off.
A bad line stops no other one, and a line of a name that came before is a later write of it. The same request may be
sent again: what is stored already is `unchanged`. Read the answer while you send: where more than 4 MB of it wait to be
read, no more lines are taken, and after a minute the connection closes. When you leave, the batch in hand is stored.
"""

router = operations("documents")


@router.post(
    "/documents/bulk",
    summary="Store many documents",
    description=DESCRIPTION,
    response_class=Response,
    responses={200: OUTCOMES, **problems(415)},
    openapi_extra=line_body("One BulkDocument a line.", BulkDocument),
)
async def bulk_documents(call: CurrentCall) -> Response:
    return await LineStream(call.limits).respond(call.request, document_lines(call))


def document_lines(call: Call) -> LineHandler[IngestRequest]:
    """Return the handler that reads and stores lines of documents."""
    services = call.services

    def read(line: bytes) -> IngestRequest:
        body = parse_model(line, BulkDocument, max_depth=call.limits.max_json_depth, field="line")
        require_external_id(body.external_id)
        return document_of(body.external_id, body, default_language=services.use_cases.default_language)

    async def store(requests: Sequence[IngestRequest]) -> list[LineOutcome]:
        outcomes = await services.use_cases.ingest.ingest_many(requests, principal=call.principal)
        if any(not isinstance(outcome, IngestFailure) and outcome.pending for outcome in outcomes):
            services.wake_embedding()
        return [
            LineOutcome(external_id=outcome.external_id, error=outcome.error)
            if isinstance(outcome, IngestFailure)
            else LineOutcome(external_id=outcome.external_id, status=outcome.status)
            for outcome in outcomes
        ]

    return LineHandler(read=read, name_of=attrgetter("external_id"), store=store, batch_lines=BATCH_DOCUMENTS)
