"""The routes below /documents, with POST /documents/bulk: one document a line in, one outcome a line out."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Any

from fastapi import Path, Query
from starlette.responses import Response

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID, require_external_id
from ragcorp.domain.documents import IngestStatus, SourceFile
from ragcorp.domain.ingestion import IngestFailure, IngestOutcome, IngestRequest, IngestResult
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.interface.http.call import Call, CurrentCall, json_response, operations
from ragcorp.interface.http.documents.schema import BulkDocument, DocumentBody, DocumentForm, DocumentPage
from ragcorp.interface.http.documents.upload import FORM, document_of, read_document
from ragcorp.interface.http.protocol.descriptions import content, problems, reference, request_body
from ragcorp.interface.http.protocol.document_names import base_name, disposition, external_id_of
from ragcorp.interface.http.protocol.json_body import parse_model
from ragcorp.interface.http.protocol.models import Selection
from ragcorp.interface.http.streams.line_stream import OUTCOMES, LineHandler, LineStream, line_body
from ragcorp.interface.shapes import documents as shapes

BATCH_DOCUMENTS = 64

DESCRIPTION = """\
Each line is a document: `external_id` and the fields of PUT. Each is answered by a line
`{"line", "external_id", "status", "unread"}` or `{"line", "external_id", "error": {"code", "detail", "errors"}}`, and
all of them by a last one `{"summary": {"created", "updated", "unchanged", "failed"}}`: an answer without it broke off.
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
    services = call.services

    def read(line: bytes) -> IngestRequest:
        body = parse_model(line, BulkDocument, max_depth=call.limits.max_json_depth, field="line")
        require_external_id(body.external_id)
        return document_of(body.external_id, body, default_language=services.use_cases.default_language)

    async def store(requests: Sequence[IngestRequest]) -> Sequence[IngestOutcome]:
        outcomes = await services.use_cases.ingest.ingest_many(requests, principal=call.principal)
        if any(not isinstance(outcome, IngestFailure) and outcome.pending for outcome in outcomes):
            services.wake_embedding()
        return outcomes

    name_of = attrgetter("external_id")
    return LineHandler(read=read, name_of=name_of, identity_of=name_of, store=store, batch_lines=BATCH_DOCUMENTS)


SHOWN_INLINE = frozenset({"application/pdf", "text/plain", "text/markdown"})
"""Media types that a browser may show, since none of them runs code. It downloads all others."""

DOCUMENT = "/documents/{external_id:path}"

ExternalId = Annotated[
    str,
    Path(
        description="The document's name, percent-encoded.",
        examples=["contratos/marco-2025.md"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_EXTERNAL_ID},
    ),
]

BINARY: dict[str, Any] = {"type": "string", "format": "binary"}
FOUND = problems(404, 422, 503)


@router.get("/documents", summary="List documents", response_model=shapes.DocumentList, responses=problems(422, 503))
async def list_documents(query: Annotated[DocumentPage, Query()], call: CurrentCall) -> Response:
    selection = _selection(query, call, deleted=query.deleted)
    documents, next_cursor = await call.use_cases.documents.list(
        selection, principal=call.principal, limit=query.limit, cursor=query.cursor
    )
    return json_response({"documents": list(map(shapes.stored_document, documents)), "next_cursor": next_cursor})


@router.delete(
    "/documents",
    summary="Delete by prefix or filters",
    description="At least one of them is needed. Deleted documents can be restored until they are purged.",
    response_model=shapes.Deleted,
    responses=problems(422, 503),
)
async def delete_documents(query: Annotated[Selection, Query()], call: CurrentCall) -> Response:
    deleted = await call.use_cases.delete.delete_selection(_selection(query, call), principal=call.principal)
    return json_response({"deleted": deleted})


# the routes with a suffix come first: the name takes every other path
@router.get(
    f"{DOCUMENT}/content",
    summary="Get the original",
    response_class=Response,
    responses={200: content("*/*", BINARY, "The original, byte for byte."), **problems(404, 422, 503)},
)
async def get_document_content(external_id: ExternalId, call: CurrentCall) -> Response:
    name = external_id_of(external_id)
    original = await call.use_cases.documents.get_source(name, principal=call.principal)
    inline = original.media_type in SHOWN_INLINE
    headers = {
        "Content-Type": _content_type(original),
        "Content-Disposition": disposition(original.filename or base_name(name), inline=inline),
    }
    if original.media_type != "application/pdf":  # a sandbox keeps browsers from showing a PDF
        headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return Response(original.content, headers=headers)


@router.post(
    f"{DOCUMENT}/restore",
    summary="Bring back a deleted document",
    response_model=shapes.Stored,
    responses=problems(404, 409, 422, 503),
)
async def restore_document(external_id: ExternalId, call: CurrentCall) -> Response:
    async with call.indexing():
        result = await call.use_cases.restore.restore(external_id_of(external_id), principal=call.principal)
    return call.written(shapes.stored(result), created=False, wake=result.pending > 0)


@router.get(DOCUMENT, summary="Describe a document", response_model=shapes.DescribedDocument, responses=FOUND)
async def get_document(external_id: ExternalId, call: CurrentCall) -> Response:
    document = await call.use_cases.documents.get(external_id_of(external_id), principal=call.principal)
    return json_response(shapes.described_document(document))


@router.put(
    DOCUMENT,
    summary="Store a document",
    description="As JSON, as a form with a file, or as the file itself with its Content-Type.",
    response_model=shapes.Stored,
    responses={201: {"model": shapes.Stored, "description": "Created"}, **problems(409, 413, 415, 422, 503)},
    openapi_extra=request_body(DocumentBody, **{FORM: reference(DocumentForm), "application/pdf": BINARY}),
)
async def put_document(external_id: ExternalId, call: CurrentCall) -> Response:
    call.slot.work_in_parts()
    document = await read_document(call, external_id_of(external_id))
    return _stored(await call.ingest(document), call)


@router.delete(DOCUMENT, summary="Delete a document", status_code=204, response_class=Response, responses=FOUND)
async def delete_document(external_id: ExternalId, call: CurrentCall) -> Response:
    await call.use_cases.delete.delete(external_id_of(external_id), principal=call.principal)
    return Response(status_code=204)


def _selection(query: Selection, call: Call, *, deleted: bool = False) -> DocumentSelection:
    return DocumentSelection(prefix=query.prefix, filters=call.filters(query.filters), deleted=deleted)


def _stored(result: IngestResult, call: Call) -> Response:
    created = result.status is IngestStatus.CREATED
    return call.written(shapes.stored(result), created=created, wake=result.pending > 0)


def _content_type(original: SourceFile) -> str:
    """Return the media type, with the charset where the text is UTF-8."""
    if original.media_type.startswith("text/"):
        try:
            original.content.decode("utf-8")
        except UnicodeDecodeError:
            return original.media_type
        return f"{original.media_type}; charset=utf-8"
    return original.media_type
