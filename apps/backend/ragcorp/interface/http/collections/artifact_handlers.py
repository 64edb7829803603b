"""Handlers of the items of artifacts and artifact_chunks."""

from __future__ import annotations

import hashlib

from starlette.responses import Response

from ragcorp.application.documents.edit_chunk import ChunkEdit
from ragcorp.application.validation.item_drafts import NAME_DIGITS
from ragcorp.domain.collections import Collection
from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.chunks import ChunkSelection
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.call import Call
from ragcorp.interface.http.collections.item_patches import ArtifactPatch, ChunkBody, NewChunk
from ragcorp.interface.http.collections.item_schema import ArtifactItem, ItemPage, require_no_artifact
from ragcorp.interface.http.documents.upload import document_of, read_document
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.parameters import Selection
from ragcorp.interface.shapes.items import artifact_outcome, chunk_edited, stored_artifact, stored_chunk


class ArtifactHandlers:
    """Whole documents: the use cases of /documents under the grammar of the collections."""

    async def add(self, call: Call) -> Response:
        body = await call.json(ArtifactItem)
        call.allow_indexing(body.text)
        name = body.external_id if body.external_id is not None else _content_name(body, call.principal)
        return await self._ingest(call, document_of(name, body, default_language=call.use_cases.default_language))

    async def put(self, call: Call, external_id: str) -> Response:
        return await self._ingest(call, await read_document(call, external_id))

    async def patch(self, call: Call, external_id: str) -> Response:
        body = await call.json(ArtifactPatch)
        call.allow_indexing(body.new_text or "")
        revising = call.use_cases.collections.revise_document.revise(
            external_id, body.as_change(), text=body.new_text, principal=call.principal
        )
        return _stored(call, await call.unless_client_leaves(revising))

    async def list(self, call: Call, query: ItemPage) -> Response:
        require_no_artifact(query)
        documents, next_cursor = await call.use_cases.documents.list(
            _selection(call, query), principal=call.principal, limit=query.limit, cursor=query.cursor
        )
        return json_response(
            {"items": [stored_artifact(document) for document in documents], "next_cursor": next_cursor}
        )

    async def get(self, call: Call, external_id: str) -> Response:
        document = await call.use_cases.documents.get(external_id, principal=call.principal)
        return json_response(stored_artifact(document))

    async def delete(self, call: Call, external_id: str) -> Response:
        await call.use_cases.delete.delete(external_id, principal=call.principal)
        return Response(status_code=204)

    async def delete_selection(self, call: Call, query: Selection) -> Response:
        deleted = await call.use_cases.delete.delete_selection(_selection(call, query), principal=call.principal)
        return json_response({"deleted": deleted})

    async def _ingest(self, call: Call, request: IngestRequest) -> Response:
        ingesting = call.use_cases.ingest.ingest(request, principal=call.principal)
        return _stored(call, await call.unless_client_leaves(ingesting))


class ChunkHandlers:
    """Passages: to write one is to write its artifact."""

    async def add(self, call: Call) -> Response:
        body = await call.json(NewChunk)
        edit = await call.use_cases.collections.edit_chunk.add(
            body.external_id, body.text, after=body.after, principal=call.principal
        )
        return _edited(call, edit, status=201)

    async def put(self, call: Call, external_id: str) -> Response:
        body = await call.json(ChunkBody)
        edit = await call.use_cases.collections.edit_chunk.replace(external_id, body.text, principal=call.principal)
        return _edited(call, edit)

    patch = put

    async def list(self, call: Call, query: ItemPage) -> Response:
        selection = ChunkSelection(prefix=query.prefix, artifact=query.artifact, filters=call.filters(query.filters))
        chunks, next_cursor = await call.use_cases.collections.chunks.list(
            selection, principal=call.principal, limit=query.limit, cursor=query.cursor
        )
        return json_response({"items": [stored_chunk(chunk) for chunk in chunks], "next_cursor": next_cursor})

    async def get(self, call: Call, external_id: str) -> Response:
        chunk = await call.use_cases.collections.chunks.get(external_id, principal=call.principal)
        return json_response(stored_chunk(chunk))

    async def delete(self, call: Call, external_id: str) -> Response:
        return _edited(call, await call.use_cases.collections.edit_chunk.remove(external_id, principal=call.principal))

    async def delete_selection(self, call: Call, query: Selection) -> Response:
        del call, query
        raise InvalidInputError(
            "Passages are removed one by one.",
            field="collection",
            limit=f"{Collection.ARTIFACTS}, {Collection.MEMORY}, {Collection.HISTORY}",
            remedy="Delete a passage by its id, or whole artifacts.",
        )


def _selection(call: Call, query: Selection) -> DocumentSelection:
    return DocumentSelection(prefix=query.prefix, filters=call.filters(query.filters))


def _stored(call: Call, result: IngestResult) -> Response:
    if result.pending:
        call.services.wake_embedding()
    return json_response(artifact_outcome(result), status=201 if result.status is IngestStatus.CREATED else 200)


def _edited(call: Call, edit: ChunkEdit, *, status: int = 200) -> Response:
    if edit.artifact.pending:
        call.services.wake_embedding()
    return json_response(chunk_edited(edit), status=status)


def _content_name(body: ArtifactItem, principal: Principal) -> str:
    """Return a name derived from the content and its readers (see item_drafts.content_name)."""
    parts = (body.text, body.sensitivity, body.visibility_scope, body.owner, principal.subject)
    return hashlib.sha256("\0".join(parts).encode("utf-8", errors="replace")).hexdigest()[:NAME_DIGITS]
