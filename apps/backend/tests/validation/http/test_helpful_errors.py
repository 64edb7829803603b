"""Errors name the field as the caller wrote it, what may stand there, and nothing of what was sent."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

MEMORY = "/collections/memory/items"
MEMORY_FIELDS = (
    "artifact_type, entities, external_id, kind, language, metadata, occurred_at, owner, sensitivity, session, "
    "speaker, text, visibility_scope"
)
JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}


def only_error(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    return dict(error)


def first_of(answer: httpx.Response) -> list[dict[str, str]]:
    """Return the errors of the first line."""
    return list(json.loads(answer.text.splitlines()[0])["error"]["errors"])


@pytest.mark.parametrize(
    ("path", "body", "field", "names"),
    [
        (
            MEMORY,
            {"text": "a", "tetx": 1},
            "body",
            MEMORY_FIELDS,
        ),
        ("/graph/facts", {"subject": {"name": "x", "foo": 1}, "object": "y", "predicate": "z"}, "subject",
         "external_id, kind, name"),
        ("/graph/facts", {"subject": "x", "object": {"foo": 1}, "predicate": "z"}, "object", "external_id, kind, name"),
        ("/graph/facts", {"subject": "x", "object": "y", "predicate": "z", "provenance": {"foo": 1}}, "provenance",
         "chunk_id, chunk_index, document"),
        ("/ask", {"query": "a", "foo": 1}, "body", None),
        ("/search", {"query": "a", "foo": 1}, "body", None),
        ("/search", {"query": "a", "fusion": {"foo": 1}}, "fusion", None),
    ],
)  # fmt: skip
async def test_an_unknown_field_is_answered_with_those_that_there_are(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], field: str, names: str | None
) -> None:
    answer = await client.post(path, json=body)
    error = only_error(answer)
    assert (error["field"], error["message"]) == (field, "Unknown field.")
    if names is None:
        assert ", " in error["limit"]
    else:
        assert error["limit"] == names
    assert "tetx" not in answer.text
    assert "foo" not in answer.text


async def test_in_a_line_the_line_is_named(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{MEMORY}/bulk", content=b'{"text":"a","tetx":1}', headers=LINES)
    (error,) = first_of(answer)
    assert error["field"] == "line"
    assert "speaker" in error["limit"]


async def test_an_entity_is_a_name_or_an_object(client: httpx.AsyncClient) -> None:
    for said in (7, [], None, {"name": 7}):
        body = {"subject": said, "object": "y", "predicate": "z"}
        assert (only_error(await client.post("/graph/facts", json=body)))["field"].startswith("subject")


async def test_no_python_is_shown(client: httpx.AsyncClient) -> None:
    answer = await client.post("/collections/artifact_chunks/items/bulk", content=b"", headers=LINES)
    error = only_error(answer)
    assert error["limit"] == "'artifacts', 'memory' or 'history'"
    assert "<" not in answer.text
    assert "Collection" not in answer.text


@pytest.mark.parametrize("text", [rb"hola \ud83d", rb"\udc00", rb"\ud83dx", rb"\udc00\ud83d"])
async def test_half_of_a_surrogate_pair_is_named(client: httpx.AsyncClient, text: bytes) -> None:
    answer = await client.post(MEMORY, content=b'{"text":"' + text + b'"}', headers=JSON)
    error = only_error(answer)
    assert (error["field"], answer.json()["code"]) == ("body", "malformed_json")
    assert "surrogate" in error["message"]


async def test_a_whole_pair_is_a_character(client: httpx.AsyncClient) -> None:
    answer = await client.post(MEMORY, content=rb'{"text":"hola \ud83d\ude00"}', headers=JSON)
    assert answer.status_code == 201


@pytest.mark.parametrize("path", [MEMORY, "/graph/entities", "/documents/bulk", "/graph/bulk"])
async def test_a_number_that_is_too_long_is_named(client: httpx.AsyncClient, path: str) -> None:
    content = b'{"text":"a","metadata":{"n":-' + b"9" * 5000 + b"}}"
    lines = path.endswith("bulk")
    answer = await client.post(path, content=content, headers=LINES if lines else JSON)
    (error,) = first_of(answer) if lines else answer.json()["errors"]
    assert error["limit"] == "4300 digits"
    assert "number" in error["message"]


async def test_an_empty_text_of_an_artifact_is_called_text(client: httpx.AsyncClient) -> None:
    path = "/collections/artifacts/items"
    assert (await client.put(f"{path}/a.md", json={"text": "Hola."})).status_code == 201
    for method, to, body in (
        ("POST", path, {"text": ""}), ("PUT", f"{path}/b.md", {"text": " "}), ("PUT", "/documents/b.md", {"text": ""}),
        ("PATCH", f"{path}/a.md", {"text": ""}), ("PATCH", f"{path}/a.md", {"text": "\u0000\u200b"}),
    ):  # fmt: skip
        assert (only_error(await client.request(method, to, json=body)))["field"] == "text", (method, to)


async def test_a_session_with_nul_is_called_session(client: httpx.AsyncClient) -> None:
    assert (only_error(await client.get("/v1/context?query=a&session=%00")))["field"] == "session"
