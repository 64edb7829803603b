"""The OpenAPI description: FastAPI's, with the bodies that routes read themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from ragcorp.interface.http.layers.access import scope_of
from ragcorp.interface.http.protocol.descriptions import REF, ProblemDetails, problems
from ragcorp.interface.http.protocol.filters import filters_schema
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.search.schema import QUERY_PATTERN

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


def describe(
    *, version: str, routes: Iterable[BaseRoute], models: Iterable[type[BaseModel]], limits: HttpLimits
) -> dict[str, Any]:
    """Return the description. ``models`` are those that FastAPI does not see, or strips of nulls in examples."""
    described = get_openapi(
        title="ragcorp",
        version=version,
        summary="Answers over a company's documents, with citations.",
        description=DESCRIPTION,
        routes=list(routes),
        servers=[{"url": "."}],  # next to the description: /v1 or a proxy's prefix
    )
    every: list[type[BaseModel]] = [ProblemDetails, *models]
    _, definitions = models_json_schema([(model, "validation") for model in every], ref_template=REF)
    schemas = described.setdefault("components", {}).setdefault("schemas", {})
    schemas |= definitions["$defs"] | {"Filters": filters_schema(limits.max_filter_conditions)}
    for schema in schemas.values():
        properties = schema.get("properties", {})
        if {"query", "limit"} <= properties.keys():  # a file search has other bounds
            properties["query"] |= {"maxLength": limits.max_query_characters, "pattern": QUERY_PATTERN}
            properties["limit"]["maximum"] = limits.max_limit
    _describe_keys(described)
    return described


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
