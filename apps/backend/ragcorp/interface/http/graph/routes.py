"""The routes below /graph."""

from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import Annotated, Any

from fastapi import Path, Query
from starlette.responses import Response

from ragcorp.application.graph.load import GraphDraft
from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID
from ragcorp.domain.documents import IngestStatus, SaveOutcome
from ragcorp.domain.graph import EntityDraft, GraphSelection
from ragcorp.interface.http.call import Call, CurrentCall, json_response, operations
from ragcorp.interface.http.graph import schema
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.document_names import external_id_of
from ragcorp.interface.http.protocol.json_body import line_object
from ragcorp.interface.http.streams.line_stream import OUTCOMES, LineHandler, LineStream, line_body
from ragcorp.interface.shapes import graph as shapes
from ragcorp.interface.shapes.values import filled

BATCH_LINES = 500

ExternalId = Annotated[
    str,
    Path(
        description="The external_id, percent-encoded.",
        examples=["person:maria perez~1f0c2a9be4d75831"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_EXTERNAL_ID},
    ),
]

BULK = """\
Each line is an entity or a fact: `{"type": "entity", "name": ...}` or `{"type": "fact", "subject": ...}` with the
fields of POST. An entity that a fact names by external_id comes before it; one that it calls by a new name is made.
Answers are as those of `/documents/bulk`.
"""
EXTRACT = """\
A language model reads chunks that it has not read yet and gives the facts in them; what the text does not bear out is
dropped. Send the request again while `remaining` is not 0. 409 where no language model is configured.
"""
WRITTEN: dict[int | str, dict[str, Any]] = {
    201: {"model": shapes.GraphStored, "description": "Created"},
    **problems(409, 413, 415, 422, 503),
}

FOUND = problems(404, 422, 503)

ENTITIES, FACTS = "/graph/entities", "/graph/facts"
ENTITY, FACT = f"{ENTITIES}/{{external_id:path}}", f"{FACTS}/{{external_id:path}}"

router = operations("graph")


@router.post(
    "/graph/bulk",
    summary="Load entities and facts",
    description=BULK,
    response_class=Response,
    responses={200: OUTCOMES, **problems(415)},
    openapi_extra=line_body("One entity or fact a line.", schema.EntityLine, schema.FactLine),
)
async def bulk_graph(call: CurrentCall) -> Response:
    return await LineStream(call.limits).respond(call.request, _lines(call))


@router.post(
    "/graph/extract",
    summary="Extract facts from documents",
    description=EXTRACT,
    response_model=shapes.ExtractionResult,
    responses=problems(404, 413, 415, 422, 503, 504),
)
async def extract_facts(body: schema.ExtractBody, call: CurrentCall) -> Response:
    call.allow(call.limits.ask_timeout_seconds)
    report = await call.unless_disconnected(
        call.use_cases.graph.extract.extract(principal=call.principal, document=body.document, limit=body.limit)
    )
    if report.facts:
        call.services.wake_embedding()
    return json_response(filled(shapes.ExtractionResult, report))


@router.get(ENTITIES, summary="List entities", response_model=shapes.EntityList, responses=problems(422, 503))
async def list_entities(query: Annotated[schema.EntityParameters, Query()], call: CurrentCall) -> Response:
    selection = GraphSelection(prefix=query.prefix, filters=call.filters(query.filters), name=query.name)
    entities, next_cursor = await call.use_cases.graph.read.entities(
        selection, principal=call.principal, limit=query.limit, cursor=query.cursor
    )
    return json_response({"entities": list(map(shapes.stored_entity, entities)), "next_cursor": next_cursor})


@router.post(
    ENTITIES, summary="Add or replace one of the entities", response_model=shapes.GraphStored, responses=WRITTEN
)
async def add_entity(body: schema.NewEntity, call: CurrentCall) -> Response:
    return await _save(call, body, body.external_id)


@router.get(ENTITY, summary="Get one of the entities", response_model=shapes.StoredEntity, responses=FOUND)
async def get_entity(external_id: ExternalId, call: CurrentCall) -> Response:
    entity = await call.use_cases.graph.read.entity(external_id_of(external_id), principal=call.principal)
    return json_response(shapes.stored_entity(entity))


@router.put(
    ENTITY, summary="Create or replace one of the entities", response_model=shapes.GraphStored, responses=WRITTEN
)
async def put_entity(external_id: ExternalId, body: schema.EntityBody, call: CurrentCall) -> Response:
    return await _save(call, body, external_id_of(external_id))


@router.delete(
    ENTITY, summary="Delete one of the entities, for good", status_code=204, response_class=Response, responses=FOUND
)
async def delete_entity(external_id: ExternalId, call: CurrentCall) -> Response:
    await call.use_cases.graph.delete.entity(external_id_of(external_id), principal=call.principal)
    return Response(status_code=204)


@router.get(FACTS, summary="List facts", response_model=shapes.FactList, responses=problems(422, 503))
async def list_facts(query: Annotated[schema.FactParameters, Query()], call: CurrentCall) -> Response:
    selection = GraphSelection(prefix=query.prefix, filters=call.filters(query.filters), entity=query.entity)
    facts, next_cursor = await call.use_cases.graph.read.facts(
        selection, principal=call.principal, limit=query.limit, cursor=query.cursor
    )
    return json_response({"facts": list(map(shapes.stored_fact, facts)), "next_cursor": next_cursor})


@router.post(FACTS, summary="Add or replace one of the facts", response_model=shapes.GraphStored, responses=WRITTEN)
async def add_fact(body: schema.NewFact, call: CurrentCall) -> Response:
    return await _save(call, body, body.external_id)


@router.get(FACT, summary="Get one of the facts", response_model=shapes.StoredFact, responses=FOUND)
async def get_fact(external_id: ExternalId, call: CurrentCall) -> Response:
    fact = await call.use_cases.graph.read.fact(external_id_of(external_id), principal=call.principal)
    return json_response(shapes.stored_fact(fact))


@router.put(FACT, summary="Create or replace one of the facts", response_model=shapes.GraphStored, responses=WRITTEN)
async def put_fact(external_id: ExternalId, body: schema.FactBody, call: CurrentCall) -> Response:
    return await _save(call, body, external_id_of(external_id))


@router.delete(
    FACT, summary="Delete one of the facts, for good", status_code=204, response_class=Response, responses=FOUND
)
async def delete_fact(external_id: ExternalId, call: CurrentCall) -> Response:
    await call.use_cases.graph.delete.fact(external_id_of(external_id), principal=call.principal)
    return Response(status_code=204)


async def _save(call: Call, body: schema.EntityBody | schema.FactBody, external_id: str | None) -> Response:
    draft = body.as_draft(external_id=external_id, default_language=call.use_cases.default_language)
    graph = call.use_cases.graph
    if isinstance(draft, EntityDraft):
        outcome = await graph.save_entities.save(draft, principal=call.principal)
    else:
        outcome = await graph.save_facts.save(draft, principal=call.principal)
    return call.written(
        filled(shapes.GraphStored, outcome),
        created=outcome.status is IngestStatus.CREATED,
        wake=outcome.status is not IngestStatus.UNCHANGED,
    )


def _lines(call: Call) -> LineHandler[GraphDraft]:
    load = call.use_cases.graph.load

    async def store(drafts: Sequence[GraphDraft]) -> Sequence[SaveOutcome]:
        outcomes = await load.store(drafts, principal=call.principal)
        call.services.wake_embedding()
        return outcomes

    return LineHandler(
        read=lambda line: load.read(line_object(line, max_depth=call.limits.max_json_depth)),
        name_of=attrgetter("external_id"),
        store=store,
        batch_lines=BATCH_LINES,
        identity_of=_identity,
    )


def _identity(draft: GraphDraft) -> Hashable:
    """Return the key that a line is stored under; None for a fact without external_id, which never conflicts."""
    if draft.external_id is not None:
        return type(draft), draft.external_id
    return (draft.attributes.artifact_type, draft.name.casefold()) if isinstance(draft, EntityDraft) else None
