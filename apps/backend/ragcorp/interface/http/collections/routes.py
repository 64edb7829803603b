"""The routes below /collections."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID
from ragcorp.domain.collections import MAX_ITEM_NAME, Collection
from ragcorp.interface.collection_use_cases import CollectionUseCases
from ragcorp.interface.http.collections.artifact_handlers import ArtifactHandlers, ChunkHandlers
from ragcorp.interface.http.collections.catalogue import described_collections
from ragcorp.interface.http.collections.item_handlers import CollectionHandlers, ItemHandlers
from ragcorp.interface.http.collections.item_patches import ArtifactPatch, ChunkBody, MemoryPatch, NewChunk, TurnPatch
from ragcorp.interface.http.collections.item_schema import (
    ArtifactItem,
    ArtifactStored,
    BulkCollection,
    ChunkEdited,
    CollectionList,
    FacetCountsBody,
    FacetParameters,
    HistoryTurn,
    ItemList,
    ItemListParameters,
    ItemSelectionParameters,
    ItemStored,
    MemoryBody,
    MemoryItem,
    StoredArtifact,
    StoredChunk,
    StoredItem,
    TurnBody,
)
from ragcorp.interface.http.documents.bulk_routes import document_lines
from ragcorp.interface.http.documents.schema import BulkDocument, Deleted, DocumentBody
from ragcorp.interface.http.protocol.descriptions import REF, content, problems
from ragcorp.interface.http.protocol.document_names import external_id_of
from ragcorp.interface.http.protocol.filters import filters_of_text
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.http.services import HttpServices
from ragcorp.interface.http.streams.line_stream import LINES_SCHEMA, NDJSON, LineHandler, LineStream
from ragcorp.interface.shapes.items import facets_document

TAGS: list[str | Enum] = ["collections"]
ITEM_BODIES: tuple[type[BaseModel], ...] = (
    ArtifactItem, ArtifactPatch, ChunkBody, HistoryTurn, MemoryBody, MemoryItem, MemoryPatch, NewChunk, TurnBody,
    TurnPatch,
)  # fmt: skip
"""The bodies that the routes read by themselves."""

CollectionName = Annotated[Collection, Path(description="The collection.")]
ExternalId = Annotated[
    str,
    Path(
        description=(
            f"The item's name, percent-encoded, of at most {MAX_EXTERNAL_ID} characters, and of memory and history "
            f"{MAX_ITEM_NAME}; of artifact_chunks, the passage's id."
        ),
        examples=["preferences/priya-seat"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_EXTERNAL_ID},
    ),
]
WRITTEN = ItemStored | ArtifactStored | ChunkEdited

ADD = """\
An item of `memory` (a fact, preference, person, place or relationship), a turn of `history`, an artifact as text, or a
passage to add to an artifact (`after`: 409 where that passage cannot be told from equal text in its line). An item of
an `external_id` that is taken is replaced; without an `external_id`, one is made of the content.
"""
PUT = """\
Creates or replaces the item; an equal one is left as it is. Artifacts are sent as to `PUT /documents/{external_id}`.
A passage is replaced in its artifact's text, which is then cut and indexed anew: 409 where the artifact is no text or
Markdown, was written meanwhile, or where the passage's text stands several times in its line, or nowhere in it (inside
a table, with the header repeated): then write the artifact.
"""
PATCH = (
    "Changes what the body names; `metadata` and lists are replaced as a whole. Of a passage, it does what PUT does, "
    "and 409 says the same."
)
DELETE = """\
Memories and turns are gone for good; artifacts can be restored until they are purged; a passage is taken out of its
artifact's text, and the answer says what became of that; 409 as for PUT, and for the only passage of its artifact.
"""
BULK = """\
One item a line, answered by a line each and a last one with the counts, as `POST /documents/bulk` does. `history` takes
chat exports: a text (`text`, `content`, `message`), who spoke (`speaker`, `role`, `author`), when (`timestamp`, `ts`,
`time`, `created_at`; ISO 8601 or seconds since 1970) and in which conversation (`session`, `session_id`,
`conversation_id`). A turn without `external_id` is named after its content, so the same export may be sent again: what
is stored already is `unchanged`.
"""


class CollectionRoutes:
    """The collections and their items over HTTP."""

    def __init__(self, *, services: HttpServices, use_cases: CollectionUseCases, limits: HttpLimits) -> None:
        self._services = services
        self._use_cases = use_cases
        self._limits = limits
        self._stream = LineStream(limits)
        self._items = {
            Collection.MEMORY: ItemHandlers(
                collection=Collection.MEMORY, use_cases=use_cases.memory, services=services, limits=limits
            ),
            Collection.HISTORY: ItemHandlers(
                collection=Collection.HISTORY, use_cases=use_cases.history, services=services, limits=limits
            ),
        }
        self._handlers: Mapping[Collection, CollectionHandlers] = {
            **self._items,
            Collection.ARTIFACTS: ArtifactHandlers(use_cases=use_cases, services=services, limits=limits),
            Collection.ARTIFACT_CHUNKS: ChunkHandlers(use_cases=use_cases, services=services, limits=limits),
        }

    def add_to(self, router: APIRouter) -> None:
        """Register the routes."""
        router.add_api_route(
            "/collections",
            self.collections,
            methods=["GET"],
            operation_id="list_collections",
            summary="Describe the collections",
            tags=TAGS,
            response_model=CollectionList,
            responses=problems(422),
        )
        router.add_api_route(
            "/collections/facets",
            self.facets,
            methods=["GET"],
            operation_id="count_facets",
            summary="Count what there is to find",
            tags=TAGS,
            response_model=FacetCountsBody,
            responses=problems(422, 503),
        )
        self._add_to_list(router)
        self._add_to_item(router)

    def _add_to_list(self, router: APIRouter) -> None:
        path = "/collections/{collection}/items"
        router.add_api_route(
            path,
            self.list,
            methods=["GET"],
            operation_id="list_items",
            summary="List items",
            tags=TAGS,
            response_model=ItemList,
            responses=problems(422, 503),
        )
        router.add_api_route(
            path,
            self.add,
            methods=["POST"],
            operation_id="add_item",
            summary="Add an item",
            description=ADD,
            tags=TAGS,
            response_model=WRITTEN,
            responses=_written(),
            openapi_extra=_bodies(MemoryItem, HistoryTurn, ArtifactItem, NewChunk),
        )
        router.add_api_route(
            path,
            self.delete_selection,
            methods=["DELETE"],
            operation_id="delete_items",
            summary="Delete by prefix or filters",
            description="At least one of them is needed.",
            tags=TAGS,
            response_model=Deleted,
            responses=problems(422, 503),
        )
        router.add_api_route(
            f"{path}/bulk",
            self.bulk,
            methods=["POST"],
            operation_id="bulk_items",
            summary="Add many items",
            description=BULK,
            tags=TAGS,
            response_class=Response,
            responses={200: content(NDJSON, LINES_SCHEMA, "What became of each."), **problems(415, 422)},
            openapi_extra={
                "requestBody": {
                    "required": True,
                    "content": {
                        NDJSON: {
                            "schema": {"type": "string", "description": "One item a line."},
                            "itemSchema": {"anyOf": _references(MemoryItem, HistoryTurn, BulkDocument)},
                        }
                    },
                }
            },
        )

    def _add_to_item(self, router: APIRouter) -> None:
        path = "/collections/{collection}/items/{external_id:path}"
        router.add_api_route(
            path,
            self.get,
            methods=["GET"],
            operation_id="get_item",
            summary="Get an item",
            tags=TAGS,
            response_model=StoredItem | StoredArtifact | StoredChunk,
            responses=problems(404, 422, 503),
        )
        router.add_api_route(
            path,
            self.put,
            methods=["PUT"],
            operation_id="put_item",
            summary="Create or replace an item",
            description=PUT,
            tags=TAGS,
            response_model=WRITTEN,
            responses=_written(404),
            openapi_extra=_bodies(MemoryBody, TurnBody, DocumentBody, ChunkBody),
        )
        router.add_api_route(
            path,
            self.patch,
            methods=["PATCH"],
            operation_id="patch_item",
            summary="Change an item",
            description=PATCH,
            tags=TAGS,
            response_model=WRITTEN,
            responses=problems(404, 409, 413, 415, 422, 503),
            openapi_extra=_bodies(MemoryPatch, TurnPatch, ArtifactPatch, ChunkBody),
        )
        router.add_api_route(
            path,
            self.delete,
            methods=["DELETE"],
            operation_id="delete_item",
            summary="Delete an item",
            description=DELETE,
            tags=TAGS,
            status_code=204,
            response_class=Response,
            responses={200: {"model": ChunkEdited, "description": "Of a passage"}, **problems(404, 409, 422, 503)},
        )

    async def collections(self) -> Response:
        return json_response({"collections": described_collections()})

    async def facets(self, query: Annotated[FacetParameters, Query()], principal: CurrentPrincipal) -> Response:
        filters = filters_of_text(query.filters, limits=self._limits)
        facets = await self._use_cases.facets.count(principal=principal, filters=filters)
        return json_response({"facets": facets_document(facets)})

    async def list(
        self, collection: CollectionName, query: Annotated[ItemListParameters, Query()], principal: CurrentPrincipal
    ) -> Response:
        return await self._handlers[collection].list(query, principal)

    async def add(self, collection: CollectionName, request: Request, principal: CurrentPrincipal) -> Response:
        return await self._handlers[collection].add(request, principal)

    async def delete_selection(
        self,
        collection: CollectionName,
        query: Annotated[ItemSelectionParameters, Query()],
        principal: CurrentPrincipal,
    ) -> Response:
        return await self._handlers[collection].delete_selection(query, principal)

    async def bulk(self, collection: BulkCollection, request: Request, principal: CurrentPrincipal) -> Response:
        handler: LineHandler[Any] = (
            document_lines(self._services, self._limits, principal)
            if collection == "artifacts"
            else self._items[Collection(collection)].lines(principal)
        )
        return await self._stream.respond(request, handler)

    async def get(self, collection: CollectionName, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        return await self._handlers[collection].get(external_id_of(external_id), principal)

    async def put(
        self, collection: CollectionName, external_id: ExternalId, request: Request, principal: CurrentPrincipal
    ) -> Response:
        return await self._handlers[collection].put(external_id_of(external_id), request, principal)

    async def patch(
        self, collection: CollectionName, external_id: ExternalId, request: Request, principal: CurrentPrincipal
    ) -> Response:
        return await self._handlers[collection].patch(external_id_of(external_id), request, principal)

    async def delete(
        self, collection: CollectionName, external_id: ExternalId, principal: CurrentPrincipal
    ) -> Response:
        return await self._handlers[collection].delete(external_id_of(external_id), principal)


def _references(*models: type[BaseModel]) -> list[dict[str, str]]:
    return [{"$ref": REF.format(model=model.__name__)} for model in models]


def _bodies(*models: type[BaseModel]) -> dict[str, Any]:
    """Describe a JSON body whose model depends on the collection."""
    schema = {"anyOf": _references(*models)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _written(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {
        201: {"model": WRITTEN, "description": "Created"},
        **problems(*sorted({*statuses, 404, 409, 413, 415, 422, 503})),
    }
