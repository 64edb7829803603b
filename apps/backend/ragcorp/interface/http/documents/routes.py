"""The routes below /documents."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID
from ragcorp.domain.documents import IngestStatus, SourceFile
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.interface.http.documents.schema import (
    Deleted,
    DocumentBody,
    DocumentForm,
    DocumentList,
    ListParameters,
    Selection,
    Stored,
    StoredDocument,
    document_json,
    stored_json,
)
from ragcorp.interface.http.documents.upload import FORM, read_document
from ragcorp.interface.http.protocol.descriptions import REF, content, problems, request_body
from ragcorp.interface.http.protocol.disconnect import unless_client_leaves
from ragcorp.interface.http.protocol.document_names import base_name, disposition, external_id_of
from ragcorp.interface.http.protocol.filters import filters_of_text
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.http.services import HttpServices

SHOWN_INLINE = frozenset({"application/pdf", "text/plain", "text/markdown"})
"""Kinds of originals that a browser may show: none of them runs anything. All others are downloads."""

ExternalId = Annotated[
    str,
    Path(
        description="The document's name, percent-encoded.",
        examples=["contratos/marco-2025.md"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_EXTERNAL_ID},
    ),
]

BINARY: dict[str, Any] = {"type": "string", "format": "binary"}
FORM_SCHEMA: dict[str, Any] = {"$ref": REF.format(model=DocumentForm.__name__)}
TAGS: list[str | Enum] = ["documents"]


class DocumentRoutes:
    """Documents over HTTP."""

    def __init__(self, *, services: HttpServices, limits: HttpLimits) -> None:
        self._services = services
        self._limits = limits

    def add_to(self, router: APIRouter) -> None:
        """Register the routes. The suffixes come first: the name takes every path that is left."""
        router.add_api_route(
            "/documents",
            self.list,
            methods=["GET"],
            operation_id="list_documents",
            summary="List documents",
            tags=TAGS,
            response_model=DocumentList,
            responses=problems(422, 503),
        )
        router.add_api_route(
            "/documents",
            self.delete_selection,
            methods=["DELETE"],
            operation_id="delete_documents",
            summary="Delete by prefix or filters",
            description="At least one of them is needed. Deleted documents can be restored until they are purged.",
            tags=TAGS,
            response_model=Deleted,
            responses=problems(422, 503),
        )
        router.add_api_route(
            "/documents/{external_id:path}/content",
            self.content,
            methods=["GET"],
            operation_id="get_document_content",
            summary="Get the original",
            tags=TAGS,
            response_class=Response,
            responses={200: content("*/*", BINARY, "The original, byte for byte."), **problems(404, 422, 503)},
        )
        router.add_api_route(
            "/documents/{external_id:path}/restore",
            self.restore,
            methods=["POST"],
            operation_id="restore_document",
            summary="Bring back a deleted document",
            tags=TAGS,
            response_model=Stored,
            responses=problems(404, 409, 422, 503),
        )
        router.add_api_route(
            "/documents/{external_id:path}",
            self.get,
            methods=["GET"],
            operation_id="get_document",
            summary="Describe a document",
            tags=TAGS,
            response_model=StoredDocument,
            responses=problems(404, 422, 503),
        )
        router.add_api_route(
            "/documents/{external_id:path}",
            self.put,
            methods=["PUT"],
            operation_id="put_document",
            summary="Store a document",
            description="As JSON, as a form with a file, or as the file itself with its Content-Type.",
            tags=TAGS,
            response_model=Stored,
            responses={
                201: {"model": Stored, "description": "Created"},
                **problems(409, 413, 415, 422, 503),
            },
            openapi_extra=request_body(DocumentBody, **{FORM: FORM_SCHEMA, "application/pdf": BINARY}),
        )
        router.add_api_route(
            "/documents/{external_id:path}",
            self.delete,
            methods=["DELETE"],
            operation_id="delete_document",
            summary="Delete a document",
            tags=TAGS,
            status_code=204,
            response_class=Response,
            responses=problems(404, 422, 503),
        )

    async def list(self, query: Annotated[ListParameters, Query()], principal: CurrentPrincipal) -> Response:
        documents, next_cursor = await self._services.documents.list(
            self._selection(query, deleted=query.deleted), principal=principal, limit=query.limit, cursor=query.cursor
        )
        return json_response(
            {"documents": [document_json(document) for document in documents], "next_cursor": next_cursor}
        )

    async def get(self, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        document = await self._services.documents.get(external_id_of(external_id), principal=principal)
        return json_response(document_json(document))

    async def content(self, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        name = external_id_of(external_id)
        original = await self._services.documents.get_source(name, principal=principal)
        inline = original.media_type in SHOWN_INLINE
        headers = {
            "Content-Type": _content_type(original),
            "Content-Disposition": disposition(original.filename or base_name(name), inline=inline),
        }
        if original.media_type != "application/pdf":  # a sandbox keeps browsers from showing a PDF
            headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        return Response(original.content, headers=headers)

    async def put(self, external_id: ExternalId, request: Request, principal: CurrentPrincipal) -> Response:
        ingest = await read_document(
            request,
            external_id_of(external_id),
            limits=self._limits,
            default_language=self._services.default_language,
        )
        ingesting = self._services.ingest.ingest(ingest, principal=principal)
        return self._stored(await unless_client_leaves(request, ingesting))

    async def restore(self, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        result = await self._services.restore.restore(external_id_of(external_id), principal=principal)
        return self._stored(result, restored=True)

    async def delete(self, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        await self._services.delete.delete(external_id_of(external_id), principal=principal)
        return Response(status_code=204)

    async def delete_selection(self, query: Annotated[Selection, Query()], principal: CurrentPrincipal) -> Response:
        deleted = await self._services.delete.delete_selection(self._selection(query), principal=principal)
        return json_response({"deleted": deleted})

    def _selection(self, query: Selection, *, deleted: bool = False) -> DocumentSelection:
        filters = filters_of_text(query.filters, limits=self._limits)
        return DocumentSelection(prefix=query.prefix, filters=filters, deleted=deleted)

    def _stored(self, result: IngestResult, *, restored: bool = False) -> Response:
        if result.pending:
            self._services.wake_embedding()
        created = result.status is IngestStatus.CREATED and not restored
        return json_response(stored_json(result), status=201 if created else 200)


def _content_type(original: SourceFile) -> str:
    """Name UTF-8 where the text is UTF-8; else leave the charset to the reader."""
    if original.media_type.startswith("text/"):
        try:
            original.content.decode("utf-8")
        except UnicodeDecodeError:
            return original.media_type
        return f"{original.media_type}; charset=utf-8"
    return original.media_type
