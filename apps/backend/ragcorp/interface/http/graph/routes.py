"""The routes below /graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.graph.load import GraphDraft
from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID
from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.graph import EntityDraft, GraphFailure, GraphOutcome, GraphSelection
from ragcorp.domain.principal import Principal
from ragcorp.interface.graph_use_cases import GraphUseCases
from ragcorp.interface.http.graph.schema import (
    EntityBody,
    EntityLine,
    EntityList,
    EntityParameters,
    ExtractBody,
    ExtractionResult,
    FactBody,
    FactLine,
    FactList,
    FactParameters,
    GraphStored,
    NewEntity,
    NewFact,
    StoredEntity,
    StoredFact,
)
from ragcorp.interface.http.protocol.bodies import allow, read_json
from ragcorp.interface.http.protocol.descriptions import REF, content, problems, request_body
from ragcorp.interface.http.protocol.disconnect import unless_client_leaves
from ragcorp.interface.http.protocol.document_names import external_id_of
from ragcorp.interface.http.protocol.filters import filters_of_text
from ragcorp.interface.http.protocol.json_body import check_json
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.http.services import HttpServices
from ragcorp.interface.http.streams.line_stream import LINES_SCHEMA, NDJSON, LineHandler, LineOutcome, LineStream
from ragcorp.interface.shapes.graph import (
    entity_document,
    extraction_document,
    fact_document,
    graph_outcome_document,
)

BATCH_LINES = 500
TAGS: list[str | Enum] = ["graph"]
GRAPH_BODIES: tuple[type[BaseModel], ...] = (
    NewEntity, EntityBody, NewFact, FactBody, EntityLine, FactLine, ExtractBody,
)  # fmt: skip
"""The bodies that the routes read by themselves."""

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


class GraphRoutes:
    """The knowledge graph over HTTP."""

    def __init__(self, *, services: HttpServices, use_cases: GraphUseCases, limits: HttpLimits) -> None:
        self._services = services
        self._use_cases = use_cases
        self._limits = limits
        self._stream = LineStream(limits)

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/graph/bulk",
            self.bulk,
            methods=["POST"],
            operation_id="bulk_graph",
            summary="Load entities and facts",
            description=BULK,
            tags=TAGS,
            response_class=Response,
            responses={200: content(NDJSON, LINES_SCHEMA, "What became of each."), **problems(415)},
            openapi_extra={
                "requestBody": {
                    "required": True,
                    "content": {
                        NDJSON: {
                            "schema": {"type": "string", "description": "One entity or fact a line."},
                            "itemSchema": {
                                "anyOf": [{"$ref": REF.format(model=line.__name__)} for line in (EntityLine, FactLine)]
                            },
                        }
                    },
                }
            },
        )
        router.add_api_route(
            "/graph/extract",
            self.extract,
            methods=["POST"],
            operation_id="extract_facts",
            summary="Extract facts from documents",
            description=EXTRACT,
            tags=TAGS,
            response_model=ExtractionResult,
            responses=problems(404, 413, 415, 422, 503, 504),
            openapi_extra=request_body(ExtractBody),
        )
        self._add_kind(router, "entity", "entities", NewEntity, EntityBody, EntityList, StoredEntity)
        self._add_kind(router, "fact", "facts", NewFact, FactBody, FactList, StoredFact)

    def _add_kind(
        self,
        router: APIRouter,
        one: str,
        many: str,
        new: type[BaseModel],
        body: type[BaseModel],
        page: type[BaseModel],
        stored: type[BaseModel],
    ) -> None:
        path = f"/graph/{many}"
        written: dict[int | str, dict[str, Any]] = {201: {"model": GraphStored, "description": "Created"}}
        router.add_api_route(
            path,
            getattr(self, f"list_{many}"),
            methods=["GET"],
            operation_id=f"list_{many}",
            summary=f"List {many}",
            tags=TAGS,
            response_model=page,
            responses=problems(422, 503),
        )
        router.add_api_route(
            path,
            getattr(self, f"add_{one}"),
            methods=["POST"],
            operation_id=f"add_{one}",
            summary=f"Add or replace one of the {many}",
            tags=TAGS,
            response_model=GraphStored,
            responses={**written, **problems(409, 413, 415, 422, 503)},
            openapi_extra=request_body(new),
        )
        router.add_api_route(
            f"{path}/{{external_id:path}}",
            getattr(self, f"get_{one}"),
            methods=["GET"],
            operation_id=f"get_{one}",
            summary=f"Get one of the {many}",
            tags=TAGS,
            response_model=stored,
            responses=problems(404, 422, 503),
        )
        router.add_api_route(
            f"{path}/{{external_id:path}}",
            getattr(self, f"put_{one}"),
            methods=["PUT"],
            operation_id=f"put_{one}",
            summary=f"Create or replace one of the {many}",
            tags=TAGS,
            response_model=GraphStored,
            responses={**written, **problems(409, 413, 415, 422, 503)},
            openapi_extra=request_body(body),
        )
        router.add_api_route(
            f"{path}/{{external_id:path}}",
            getattr(self, f"delete_{one}"),
            methods=["DELETE"],
            operation_id=f"delete_{one}",
            summary=f"Delete one of the {many}, for good",
            tags=TAGS,
            status_code=204,
            response_class=Response,
            responses=problems(404, 422, 503),
        )

    async def bulk(self, request: Request, principal: CurrentPrincipal) -> Response:
        return await self._stream.respond(request, self._lines(principal))

    async def extract(self, request: Request, principal: CurrentPrincipal) -> Response:
        body = await read_json(request, ExtractBody, self._limits)
        allow(request, self._limits.ask_timeout_seconds)
        report = await unless_client_leaves(
            request,
            self._use_cases.extract.extract(principal=principal, document=body.document, limit=body.limit),
        )
        if report.facts:
            self._services.wake_embedding()
        return json_response(extraction_document(report))

    async def list_entities(self, query: Annotated[EntityParameters, Query()], principal: CurrentPrincipal) -> Response:
        filters = filters_of_text(query.filters, limits=self._limits)
        selection = GraphSelection(prefix=query.prefix, filters=filters, name=query.name)
        entities, next_cursor = await self._use_cases.read.entities(
            selection, principal=principal, limit=query.limit, cursor=query.cursor
        )
        return json_response({"entities": [entity_document(one) for one in entities], "next_cursor": next_cursor})

    async def list_facts(self, query: Annotated[FactParameters, Query()], principal: CurrentPrincipal) -> Response:
        filters = filters_of_text(query.filters, limits=self._limits)
        selection = GraphSelection(prefix=query.prefix, filters=filters, entity=query.entity)
        facts, next_cursor = await self._use_cases.read.facts(
            selection, principal=principal, limit=query.limit, cursor=query.cursor
        )
        return json_response({"facts": [fact_document(one) for one in facts], "next_cursor": next_cursor})

    async def add_entity(self, request: Request, principal: CurrentPrincipal) -> Response:
        body = await read_json(request, NewEntity, self._limits)
        return await self._save_entity(body, body.external_id, principal)

    async def put_entity(self, external_id: ExternalId, request: Request, principal: CurrentPrincipal) -> Response:
        body = await read_json(request, EntityBody, self._limits)
        return await self._save_entity(body, external_id_of(external_id), principal)

    async def get_entity(self, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        return json_response(
            entity_document(await self._use_cases.read.entity(external_id_of(external_id), principal=principal))
        )

    async def delete_entity(self, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        await self._use_cases.delete.entity(external_id_of(external_id), principal=principal)
        return Response(status_code=204)

    async def add_fact(self, request: Request, principal: CurrentPrincipal) -> Response:
        body = await read_json(request, NewFact, self._limits)
        return await self._save_fact(body, body.external_id, principal)

    async def put_fact(self, external_id: ExternalId, request: Request, principal: CurrentPrincipal) -> Response:
        body = await read_json(request, FactBody, self._limits)
        return await self._save_fact(body, external_id_of(external_id), principal)

    async def get_fact(self, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        return json_response(
            fact_document(await self._use_cases.read.fact(external_id_of(external_id), principal=principal))
        )

    async def delete_fact(self, external_id: ExternalId, principal: CurrentPrincipal) -> Response:
        await self._use_cases.delete.fact(external_id_of(external_id), principal=principal)
        return Response(status_code=204)

    async def _save_entity(self, body: EntityBody, external_id: str | None, principal: Principal) -> Response:
        draft = body.as_draft(external_id=external_id, default_language=self._services.default_language)
        return self._stored(await self._use_cases.save_entities.save(draft, principal=principal))

    async def _save_fact(self, body: FactBody, external_id: str | None, principal: Principal) -> Response:
        draft = body.as_draft(external_id=external_id, default_language=self._services.default_language)
        return self._stored(await self._use_cases.save_facts.save(draft, principal=principal))

    def _stored(self, outcome: GraphOutcome) -> Response:
        if outcome.status is not IngestStatus.UNCHANGED:
            self._services.wake_embedding()
        created = outcome.status is IngestStatus.CREATED
        return json_response(graph_outcome_document(outcome), status=201 if created else 200)

    def _lines(self, principal: Principal) -> LineHandler[GraphDraft]:
        load = self._use_cases.load

        def read(line: bytes) -> GraphDraft:
            value: Any = check_json(line, max_depth=self._limits.max_json_depth, field="line")
            if not isinstance(value, dict):
                raise InvalidInputError(
                    "The line is not a JSON object.", field="line", remedy="Send one JSON object a line."
                )
            return load.read(value)

        async def store(drafts: Sequence[GraphDraft]) -> list[LineOutcome]:
            outcomes = await load.store(drafts, principal=principal)
            self._services.wake_embedding()
            return [
                LineOutcome(external_id=draft.external_id, error=outcome.error)
                if isinstance(outcome, GraphFailure)
                else LineOutcome(external_id=outcome.external_id, status=outcome.status)
                for draft, outcome in zip(drafts, outcomes, strict=True)
            ]

        return LineHandler(
            read=read,
            name_of=attrgetter("external_id"),
            store=store,
            batch_lines=BATCH_LINES,
            identity_of=_identity,
        )


def _identity(draft: GraphDraft) -> Hashable:
    """Return what a line is stored under. A fact without external_id is None: said twice, it is unchanged anyway."""
    if draft.external_id is not None:
        return type(draft), draft.external_id
    return (draft.attributes.artifact_type, draft.name.casefold()) if isinstance(draft, EntityDraft) else None
