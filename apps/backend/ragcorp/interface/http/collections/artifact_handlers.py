"""What the routes of items do for artifacts and their passages."""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.documents.edit_chunk import ChunkEdit
from ragcorp.application.validation.item_drafts import NAME_DIGITS
from ragcorp.domain.collections import Collection
from ragcorp.domain.documents import Document, IngestStatus
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.chunks import ChunkSelection
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.interface.collection_use_cases import CollectionUseCases
from ragcorp.interface.http.collections.item_patches import ArtifactPatch, ChunkBody, NewChunk
from ragcorp.interface.http.collections.item_schema import (
    ArtifactItem,
    ItemListParameters,
    ItemSelectionParameters,
    require_no_artifact,
)
from ragcorp.interface.http.documents.schema import document_json
from ragcorp.interface.http.documents.upload import document_of, read_document
from ragcorp.interface.http.protocol.bodies import allow_indexing, read_json
from ragcorp.interface.http.protocol.disconnect import unless_client_leaves
from ragcorp.interface.http.protocol.filters import filters_of_text
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.services import HttpServices
from ragcorp.interface.shapes.items import artifact_document, chunk_document, edit_document


class ArtifactHandlers:
    """Whole documents: the use cases of /documents under the grammar of the collections."""

    def __init__(self, *, use_cases: CollectionUseCases, services: HttpServices, limits: HttpLimits) -> None:
        self._use_cases = use_cases
        self._services = services
        self._limits = limits

    async def add(self, request: Request, principal: Principal) -> Response:
        body = await read_json(request, ArtifactItem, self._limits)
        allow_indexing(request, self._limits, size=len(body.text.encode()))
        name = body.external_id if body.external_id is not None else _content_name(body, principal)
        ingest = document_of(name, body, default_language=self._services.default_language)
        ingesting = self._services.ingest.ingest(ingest, principal=principal)
        return self._stored(await unless_client_leaves(request, ingesting))

    async def put(self, external_id: str, request: Request, principal: Principal) -> Response:
        ingest = await read_document(
            request, external_id, limits=self._limits, default_language=self._services.default_language
        )
        ingesting = self._services.ingest.ingest(ingest, principal=principal)
        return self._stored(await unless_client_leaves(request, ingesting))

    async def patch(self, external_id: str, request: Request, principal: Principal) -> Response:
        body = await read_json(request, ArtifactPatch, self._limits)
        allow_indexing(request, self._limits, size=len((body.new_text or "").encode()))
        revising = self._use_cases.revise_document.revise(
            external_id, body.as_change(), text=body.new_text, principal=principal
        )
        return self._stored(await unless_client_leaves(request, revising))

    async def list(self, query: ItemListParameters, principal: Principal) -> Response:
        require_no_artifact(query)
        documents, next_cursor = await self._services.documents.list(
            self._selection(query), principal=principal, limit=query.limit, cursor=query.cursor
        )
        return json_response({"items": [_document(document) for document in documents], "next_cursor": next_cursor})

    async def get(self, external_id: str, principal: Principal) -> Response:
        return json_response(_document(await self._services.documents.get(external_id, principal=principal)))

    async def delete(self, external_id: str, principal: Principal) -> Response:
        await self._services.delete.delete(external_id, principal=principal)
        return Response(status_code=204)

    async def delete_selection(self, query: ItemSelectionParameters, principal: Principal) -> Response:
        deleted = await self._services.delete.delete_selection(self._selection(query), principal=principal)
        return json_response({"deleted": deleted})

    def _selection(self, query: ItemSelectionParameters) -> DocumentSelection:
        filters = filters_of_text(query.filters, limits=self._limits)
        return DocumentSelection(prefix=query.prefix, filters=filters)

    def _stored(self, result: IngestResult) -> Response:
        if result.pending:
            self._services.wake_embedding()
        return json_response(artifact_document(result), status=201 if result.status is IngestStatus.CREATED else 200)


class ChunkHandlers:
    """Passages: to write one is to write its artifact."""

    def __init__(self, *, use_cases: CollectionUseCases, services: HttpServices, limits: HttpLimits) -> None:
        self._use_cases = use_cases
        self._services = services
        self._limits = limits

    async def add(self, request: Request, principal: Principal) -> Response:
        body = await read_json(request, NewChunk, self._limits)
        edit = await self._use_cases.edit_chunk.add(body.external_id, body.text, after=body.after, principal=principal)
        return self._edited(edit, status=201)

    async def put(self, external_id: str, request: Request, principal: Principal) -> Response:
        body = await read_json(request, ChunkBody, self._limits)
        return self._edited(await self._use_cases.edit_chunk.replace(external_id, body.text, principal=principal))

    async def patch(self, external_id: str, request: Request, principal: Principal) -> Response:
        return await self.put(external_id, request, principal)

    async def list(self, query: ItemListParameters, principal: Principal) -> Response:
        selection = ChunkSelection(
            prefix=query.prefix,
            artifact=query.artifact,
            filters=filters_of_text(query.filters, limits=self._limits),
        )
        chunks, next_cursor = await self._use_cases.chunks.list(
            selection, principal=principal, limit=query.limit, cursor=query.cursor
        )
        return json_response({"items": [chunk_document(chunk) for chunk in chunks], "next_cursor": next_cursor})

    async def get(self, external_id: str, principal: Principal) -> Response:
        return json_response(chunk_document(await self._use_cases.chunks.get(external_id, principal=principal)))

    async def delete(self, external_id: str, principal: Principal) -> Response:
        return self._edited(await self._use_cases.edit_chunk.remove(external_id, principal=principal))

    async def delete_selection(self, query: ItemSelectionParameters, principal: Principal) -> Response:
        del query, principal
        raise InvalidInputError(
            "Passages are removed one by one.",
            field="collection",
            limit=f"{Collection.ARTIFACTS}, {Collection.MEMORY}, {Collection.HISTORY}",
            remedy="Delete a passage by its id, or whole artifacts.",
        )

    def _edited(self, edit: ChunkEdit, *, status: int = 200) -> Response:
        if edit.artifact.pending:
            self._services.wake_embedding()
        return json_response(edit_document(edit), status=status)


def _content_name(body: ArtifactItem, principal: Principal) -> str:
    """Return a name of the content and of who may read it (see item_drafts.content_name)."""
    told = (body.text, body.sensitivity, body.visibility_scope, body.owner, principal.subject)
    return hashlib.sha256("\0".join(told).encode("utf-8", errors="replace")).hexdigest()[:NAME_DIGITS]


def _document(document: Document) -> dict[str, object]:
    return {"collection": Collection.ARTIFACTS, **document_json(document)}
