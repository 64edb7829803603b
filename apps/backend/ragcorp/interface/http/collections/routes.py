"""The routes below /collections, and the description of the collections."""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from fastapi import Path, Query
from pydantic import BaseModel
from starlette.responses import Response
from typing_extensions import TypedDict

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID
from ragcorp.domain.collections import MAX_ITEM_NAME, Collection
from ragcorp.domain.filters import DOCUMENT_FIELDS, ITEM_FIELDS, METADATA
from ragcorp.interface.http.call import CurrentCall, json_response, operations
from ragcorp.interface.http.collections import item_patches as patches
from ragcorp.interface.http.collections import item_schema as schema
from ragcorp.interface.http.collections.handlers import HISTORY, MEMORY, ArtifactHandlers, ChunkHandlers, ItemHandlers
from ragcorp.interface.http.documents.routes import document_lines
from ragcorp.interface.http.documents.schema import BulkDocument, DocumentBody
from ragcorp.interface.http.protocol.descriptions import problems, request_body
from ragcorp.interface.http.protocol.document_names import external_id_of
from ragcorp.interface.http.protocol.models import Selection
from ragcorp.interface.http.streams.line_stream import OUTCOMES, LineHandler, LineStream, line_body
from ragcorp.interface.shapes import items as shapes
from ragcorp.interface.shapes.documents import Deleted


class CollectionField(TypedDict):
    """A field that an item can be written with."""

    name: str
    required: bool
    description: NotRequired[str | None]


class CollectionDescription(TypedDict):
    """A collection: what its items are written with, and what lists and searches of it can be filtered by."""

    collection: Collection
    description: str
    fields: list[CollectionField]
    filters: list[str]


class CollectionList(TypedDict):
    """The collections."""

    collections: list[CollectionDescription]


def described_collections() -> CollectionList:
    """Return the description of each collection. ``metadata`` among the filters: any other name is one of its keys."""
    return {
        "collections": [
            _described(Collection.ARTIFACTS, "Whole documents.", schema.ArtifactItem, DOCUMENT_FIELDS),
            _described(Collection.ARTIFACT_CHUNKS, "The passages of documents.", patches.NewChunk, DOCUMENT_FIELDS),
            _described(
                Collection.MEMORY,
                "Facts, preferences, people, places and relationships.",
                schema.MemoryItem,
                ITEM_FIELDS,
            ),
            _described(Collection.HISTORY, "Turns of conversations.", schema.HistoryTurn, ITEM_FIELDS),
        ]
    }


def _described(
    collection: Collection, description: str, model: type[BaseModel], filters: frozenset[str]
) -> CollectionDescription:
    fields: list[CollectionField] = []
    for name, info in model.model_fields.items():
        field: CollectionField = {"name": name, "required": info.is_required()}
        if info.description is not None:
            field["description"] = info.description
        fields.append(field)
    return {
        "collection": collection,
        "description": description,
        "fields": fields,
        "filters": [*sorted(filters - {METADATA}), METADATA],
    }


HANDLERS: Mapping[Collection, ItemHandlers | ArtifactHandlers | ChunkHandlers] = {
    Collection.MEMORY: MEMORY,
    Collection.HISTORY: HISTORY,
    Collection.ARTIFACTS: ArtifactHandlers(),
    Collection.ARTIFACT_CHUNKS: ChunkHandlers(),
}

ITEMS = "/collections/{collection}/items"
ITEM = f"{ITEMS}/{{external_id:path}}"

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
WRITTEN = shapes.ItemStored | shapes.ArtifactStored | shapes.ChunkEdited

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
CREATED: dict[int | str, dict[str, Any]] = {
    201: {"model": WRITTEN, "description": "Created"},
    **problems(404, 409, 413, 415, 422, 503),
}

router = operations("collections")


@router.get("/collections", summary="Describe the collections", response_model=CollectionList, responses=problems(422))
async def list_collections() -> Response:
    return json_response(described_collections())


@router.get(
    "/collections/facets",
    summary="Count what there is to find",
    response_model=shapes.FacetCountsBody,
    responses=problems(422, 503),
)
async def count_facets(query: Annotated[schema.FacetParameters, Query()], call: CurrentCall) -> Response:
    filters = call.filters(query.filters)
    return json_response(
        shapes.facet_counts(await call.use_cases.collections.facets.count(principal=call.principal, filters=filters))
    )


@router.get(ITEMS, summary="List items", response_model=shapes.ItemList, responses=problems(422, 503))
async def list_items(
    collection: CollectionName, query: Annotated[schema.ItemPage, Query()], call: CurrentCall
) -> Response:
    return await HANDLERS[collection].list(call, query)


@router.post(
    ITEMS,
    summary="Add an item",
    description=ADD,
    response_model=WRITTEN,
    responses=CREATED,
    openapi_extra=request_body(schema.MemoryItem, schema.HistoryTurn, schema.ArtifactItem, patches.NewChunk),
)
async def add_item(collection: CollectionName, call: CurrentCall) -> Response:
    return await HANDLERS[collection].add(call)


@router.delete(
    ITEMS,
    summary="Delete by prefix or filters",
    description="At least one of them is needed.",
    response_model=Deleted,
    responses=problems(422, 503),
)
async def delete_items(collection: CollectionName, query: Annotated[Selection, Query()], call: CurrentCall) -> Response:
    return await HANDLERS[collection].delete_selection(call, query)


@router.post(
    f"{ITEMS}/bulk",
    summary="Add many items",
    description=BULK,
    response_class=Response,
    responses={200: OUTCOMES, **problems(415, 422)},
    openapi_extra=line_body("One item a line.", schema.MemoryItem, schema.HistoryTurn, BulkDocument),
)
async def bulk_items(collection: schema.BulkCollection, call: CurrentCall) -> Response:
    handler: LineHandler[Any]
    match collection:
        case "artifacts":
            handler = document_lines(call)
        case "memory":
            handler = MEMORY.lines(call)
        case "history":
            handler = HISTORY.lines(call)
    return await LineStream(call.limits).respond(call.request, handler)


@router.get(
    ITEM,
    summary="Get an item",
    response_model=shapes.StoredItem | shapes.StoredArtifact | shapes.StoredChunk,
    responses=problems(404, 422, 503),
)
async def get_item(collection: CollectionName, external_id: ExternalId, call: CurrentCall) -> Response:
    return await HANDLERS[collection].get(call, external_id_of(external_id))


@router.put(
    ITEM,
    summary="Create or replace an item",
    description=PUT,
    response_model=WRITTEN,
    responses=CREATED,
    openapi_extra=request_body(schema.MemoryBody, schema.TurnBody, DocumentBody, patches.ChunkBody),
)
async def put_item(collection: CollectionName, external_id: ExternalId, call: CurrentCall) -> Response:
    return await HANDLERS[collection].put(call, external_id_of(external_id))


@router.patch(
    ITEM,
    summary="Change an item",
    description=PATCH,
    response_model=WRITTEN,
    responses=problems(404, 409, 413, 415, 422, 503),
    openapi_extra=request_body(patches.MemoryPatch, patches.TurnPatch, patches.ArtifactPatch, patches.ChunkBody),
)
async def patch_item(collection: CollectionName, external_id: ExternalId, call: CurrentCall) -> Response:
    return await HANDLERS[collection].patch(call, external_id_of(external_id))


@router.delete(
    ITEM,
    summary="Delete an item",
    description=DELETE,
    status_code=204,
    response_class=Response,
    responses={200: {"model": shapes.ChunkEdited, "description": "Of a passage"}, **problems(404, 409, 422, 503)},
)
async def delete_item(collection: CollectionName, external_id: ExternalId, call: CurrentCall) -> Response:
    return await HANDLERS[collection].delete(call, external_id_of(external_id))
