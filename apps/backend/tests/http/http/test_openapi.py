"""The OpenAPI description is valid, complete and true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.interface.http.answers.routes import AskBody
from ragcorp.interface.http.collections.item_patches import ArtifactPatch, ChunkBody, MemoryPatch, TurnPatch
from ragcorp.interface.http.collections.item_schema import ArtifactItem, HistoryTurn, MemoryItem
from ragcorp.interface.http.documents.schema import BulkDocument, DocumentBody
from ragcorp.interface.http.files.routes import GrepBody, ReadBody
from ragcorp.interface.http.openapi import UNSEEN_BODIES, bodies
from ragcorp.interface.http.protocol.descriptions import ProblemDetails
from ragcorp.interface.http.search.routes import SearchBody
from ragcorp.interface.shapes.answers import AnswerBody
from ragcorp.interface.shapes.documents import Stored
from ragcorp.interface.shapes.files import FileContent, GrepResults
from ragcorp.interface.shapes.search import Result, SearchResults
from ragcorp.interface.shapes.status import StatusBody
from support.fixtures.http import MakeApp

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def described() -> list[str]:
    """The description as it was sent: an application takes 200 ms for it."""
    return []


@pytest.fixture
async def description(client: httpx.AsyncClient, described: list[str]) -> dict[str, Any]:
    if not described:
        described.append((await client.get("/openapi.json")).text)
    return dict(json.loads(described[0]))


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


async def test_operations_have_short_stable_names(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1")
    assert {(method, path): operation["operationId"] for path, method, operation in operations(description)} == {
        ("post", "/search"): "search",
        ("post", "/ask"): "ask",
        ("get", "/context"): "load_context",
        ("get", "/introspect/hydration/{episode_id}"): "introspect_hydration",
        ("post", "/grep"): "grep",
        ("post", "/files/read"): "read_file",
        ("post", "/documents/bulk"): "bulk_documents",
        ("get", "/documents"): "list_documents",
        ("delete", "/documents"): "delete_documents",
        ("get", "/documents/{external_id}"): "get_document",
        ("put", "/documents/{external_id}"): "put_document",
        ("delete", "/documents/{external_id}"): "delete_document",
        ("get", "/documents/{external_id}/content"): "get_document_content",
        ("post", "/documents/{external_id}/restore"): "restore_document",
        ("get", "/collections"): "list_collections",
        ("get", "/collections/facets"): "count_facets",
        ("get", "/collections/{collection}/items"): "list_items",
        ("post", "/collections/{collection}/items"): "add_item",
        ("delete", "/collections/{collection}/items"): "delete_items",
        ("post", "/collections/{collection}/items/bulk"): "bulk_items",
        ("get", "/collections/{collection}/items/{external_id}"): "get_item",
        ("put", "/collections/{collection}/items/{external_id}"): "put_item",
        ("patch", "/collections/{collection}/items/{external_id}"): "patch_item",
        ("delete", "/collections/{collection}/items/{external_id}"): "delete_item",
        ("post", "/graph/bulk"): "bulk_graph",
        ("post", "/graph/extract"): "extract_facts",
        ("get", "/graph/entities"): "list_entities",
        ("post", "/graph/entities"): "add_entity",
        ("get", "/graph/entities/{external_id}"): "get_entity",
        ("put", "/graph/entities/{external_id}"): "put_entity",
        ("delete", "/graph/entities/{external_id}"): "delete_entity",
        ("get", "/graph/facts"): "list_facts",
        ("post", "/graph/facts"): "add_fact",
        ("get", "/graph/facts/{external_id}"): "get_fact",
        ("put", "/graph/facts/{external_id}"): "put_fact",
        ("delete", "/graph/facts/{external_id}"): "delete_fact",
        ("get", "/status"): "status",
        ("get", "/healthz"): "healthz",
        ("get", "/readyz"): "readyz",
        ("get", "/metrics"): "metrics",
    }


async def test_the_collections_are_an_enumeration(description: dict[str, Any]) -> None:
    assert description["components"]["schemas"]["Collection"]["enum"] == [
        "artifacts", "artifact_chunks", "memory", "history",
    ]  # fmt: skip
    (name,) = description["paths"]["/collections/{collection}/items"]["post"]["parameters"]
    assert (name["name"], name["schema"]["$ref"]) == ("collection", "#/components/schemas/Collection")
    (bulk,) = description["paths"]["/collections/{collection}/items/bulk"]["post"]["parameters"]
    assert bulk["schema"]["enum"] == ["artifacts", "memory", "history"]


async def test_every_reference_leads_somewhere(description: dict[str, Any]) -> None:
    existing = {f"#/components/schemas/{name}" for name in description["components"]["schemas"]}
    assert set(references(description)) <= existing


async def test_every_error_is_a_problem(description: dict[str, Any]) -> None:
    for path, method, operation in operations(description):
        assert "default" in operation["responses"], (method, path)
        for status, response in operation["responses"].items():
            if status == "default" or int(status) >= 400:
                (media_type,) = response["content"]
                assert media_type == "application/problem+json", (method, path, status)
    assert "HTTPValidationError" not in description["components"]["schemas"]


async def test_every_request_body_is_described(description: dict[str, Any], make_app: MakeApp) -> None:
    described = {operation["operationId"] for _, _, operation in operations(description) if "requestBody" in operation}
    assert described == {
        "search", "ask", "grep", "read_file",
        "put_document", "bulk_documents", "add_item", "put_item", "patch_item", "bulk_items",
        "add_entity", "put_entity", "add_fact", "put_fact", "bulk_graph", "extract_facts",
    }  # fmt: skip
    schemas = description["components"]["schemas"]
    for model in (*UNSEEN_BODIES, *bodies(make_app().routes)):
        assert schemas[model.__name__]["additionalProperties"] is False
        assert set(schemas[model.__name__]["properties"]) == set(model.model_fields)


async def test_limits_are_those_of_the_settings(description: dict[str, Any], make_app: MakeApp) -> None:
    query = description["components"]["schemas"]["SearchBody"]["properties"]["query"]
    assert (query["minLength"], query["maxLength"]) == (1, 2000)
    transport = httpx.ASGITransport(make_app(max_query_characters=99, max_limit=7))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        schemas = (await client.get("/openapi.json")).json()["components"]["schemas"]
    for name in ("SearchBody", "AskBody"):
        assert schemas[name]["properties"]["query"]["maxLength"] == 99
        assert schemas[name]["properties"]["limit"]["maximum"] == 7


@pytest.mark.parametrize(
    "model",
    [
        SearchBody,
        AskBody,
        DocumentBody,
        BulkDocument,
        SearchResults,
        Result,
        AnswerBody,
        Stored,
        ProblemDetails,
        GrepBody,
        ReadBody,
        GrepResults,
        FileContent,
        StatusBody,
    ],
)
async def test_examples_fit_their_schemas(description: dict[str, Any], model: Any) -> None:
    examples = description["components"]["schemas"][model.__name__]["examples"]
    assert examples
    for example in examples:
        TypeAdapter(model).validate_json(json.dumps(example))


async def test_the_examples_of_requests_are_accepted(client: httpx.AsyncClient, description: dict[str, Any]) -> None:
    def example(name: str) -> Any:
        return description["components"]["schemas"][name]["examples"][0]

    assert (await client.put("/documents/a.md", json=example("DocumentBody"))).status_code == 201
    assert (await client.post("/search", json=example("SearchBody"))).status_code == 200
    assert (await client.post("/ask", json=example("AskBody"))).status_code == 200
    line = json.dumps(example("BulkDocument"))
    answer = await client.post("/documents/bulk", content=line, headers={"Content-Type": "application/x-ndjson"})
    assert '"failed":0' in answer.text


@pytest.mark.parametrize(
    "model", [MemoryItem, HistoryTurn, ArtifactItem, MemoryPatch, TurnPatch, ArtifactPatch, ChunkBody]
)
async def test_examples_of_items_fit_their_schemas(description: dict[str, Any], model: Any) -> None:
    for example in description["components"]["schemas"][model.__name__]["examples"]:
        TypeAdapter(model).validate_json(json.dumps(example))


async def test_its_server_is_beside_it(description: dict[str, Any]) -> None:
    (server,) = description["servers"]
    for read_at, meant in (
        ("http://localhost/openapi.json", "http://localhost/"),
        ("http://localhost/v1/openapi.json", "http://localhost/v1/"),
        ("https://example.com/rag/openapi.json", "https://example.com/rag/"),
    ):
        assert urljoin(read_at, server["url"]) == meant


async def test_no_two_models_have_one_name(description: dict[str, Any]) -> None:
    # FastAPI tells such models apart by their modules, and what refers to one of them by hand meets the other
    assert [name for name in description["components"]["schemas"] if "__" in name] == []
