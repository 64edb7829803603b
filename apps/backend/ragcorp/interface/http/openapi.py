"""The OpenAPI description: FastAPI's, with schemas of every body and response, and the scope of each operation."""

from collections.abc import Iterable
from typing import Any

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode
from starlette.routing import BaseRoute

from ragcorp.interface.http.collections.item_patches import ArtifactPatch, ChunkBody, MemoryPatch, NewChunk, TurnPatch
from ragcorp.interface.http.collections.item_schema import ArtifactItem, HistoryTurn, MemoryBody, MemoryItem, TurnBody
from ragcorp.interface.http.documents.schema import BulkDocument, DocumentBody, DocumentFields, DocumentForm
from ragcorp.interface.http.graph.schema import EntityLine, FactLine
from ragcorp.interface.http.layers.access import scope_of
from ragcorp.interface.http.protocol.descriptions import REF, ProblemDetails, problems
from ragcorp.interface.http.protocol.filters import filters_schema
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.search.routes import QUERY_PATTERN

KEY_SCHEME = "key"

DESCRIPTION = """\
Search a company's documents and ask questions over them, with citations.

* Every path also answers below `/v1`.
* Errors are `application/problem+json` (RFC 9457). They name the field, its limit and a remedy, never a value.
* `429` (a key's rate, open requests or tokens of the day) and `503` (the service is busy) tell when to come back in
  `Retry-After`.
* `X-Request-ID` is taken over if it has 1 to 64 letters, digits, `.`, `_` or `-`, else made; every response carries it.
* A document's name may hold any character: percent-encode it. A slash in the name may stay a slash, except that a name
  which ends in `/content` or `/restore` is sent as `...%2Fcontent`: a plain `/content` asks for the original.
"""


UNSEEN_BODIES: tuple[type[BaseModel], ...] = (
    DocumentFields, DocumentBody, DocumentForm, BulkDocument, EntityLine, FactLine,
    ArtifactItem, ArtifactPatch, ChunkBody, HistoryTurn, MemoryBody, MemoryItem, MemoryPatch, NewChunk, TurnBody,
    TurnPatch,
)  # fmt: skip
"""Bodies that are no parameter of their handler: files, lines, and items whose model depends on the collection."""


def describe(*, version: str, routes: Iterable[BaseRoute], limits: HttpLimits) -> dict[str, Any]:
    """Return the whole description.

    The schemas are made here from the routes' types: those that FastAPI makes lack the nulls in examples.
    """
    routes = list(routes)
    described = get_openapi(
        title="ragcorp",
        version=version,
        summary="Answers over a company's documents, with citations.",
        description=DESCRIPTION,
        routes=routes,
        servers=[{"url": "."}],  # relative to the description, so that /v1 and the prefix of a proxy are kept
    )
    answers = _schemas(_answers(routes))
    requests = _schemas([ProblemDetails, *UNSEEN_BODIES, *bodies(routes)])
    schemas = answers | requests | {"Filters": filters_schema(limits.max_filter_conditions)}
    described["components"]["schemas"] = schemas
    for schema in schemas.values():
        properties = schema.get("properties", {})
        if {"query", "limit"} <= properties.keys():  # a file search has other bounds
            properties["query"] |= {"maxLength": limits.max_query_characters, "pattern": QUERY_PATTERN}
            properties["limit"]["maximum"] = limits.max_limit
    _describe_keys(described)
    return described


def bodies(routes: Iterable[BaseRoute]) -> list[Any]:
    """Return the models of the bodies that are parameters of handlers."""
    return [route.body_field.field_info.annotation for route in _operations(routes) if route.body_field is not None]


def _answers(routes: Iterable[BaseRoute]) -> list[Any]:
    return [
        kind
        for route in _operations(routes)
        for kind in (route.response_model, *(response.get("model") for response in route.responses.values()))
        if kind is not None
    ]


def _schemas(types: Iterable[Any]) -> dict[str, Any]:
    """Return the schemas by name of ``types`` and of the types in them."""
    inputs: list[tuple[int, JsonSchemaMode, TypeAdapter[Any]]] = [
        (number, "validation", TypeAdapter(kind)) for number, kind in enumerate(types)
    ]
    _, definitions = TypeAdapter.json_schemas(inputs, ref_template=REF)
    schemas: dict[str, Any] = definitions["$defs"]
    return schemas


def _operations(routes: Iterable[BaseRoute]) -> list[APIRoute]:
    return [route for route in routes if isinstance(route, APIRoute) and route.include_in_schema]


def _describe_keys(described: dict[str, Any]) -> None:
    """Add to each operation its scope and its refusals."""
    described["components"]["securitySchemes"] = {
        KEY_SCHEME: {
            "type": "http",
            "scheme": "bearer",
            "description": "A key, `<id>.<secret>`; `ragcorp keys create` makes one. While none exists, the service "
            "listens on the loopback only, and none is needed.",
        }
    }
    described["security"] = [{KEY_SCHEME: []}]
    for item in described["paths"].values():
        for operation in (part for part in item.values() if isinstance(part, dict) and "operationId" in part):
            scope = scope_of(operation["operationId"])
            if scope is None:
                operation["security"] = []
                continue
            text = operation.get("description")
            needs = f"Needs a key with the scope `{scope}`."
            operation["description"] = needs if text is None else f"{text}\n\n{needs}"
            refusals = {str(status): answer for status, answer in problems(401, 403, 429).items()}
            del refusals["default"]  # the operation has its own
            refusals["401"]["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
            refusals["429"]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
            operation["responses"] = refusals | operation["responses"]
