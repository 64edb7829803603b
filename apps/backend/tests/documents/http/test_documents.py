"""The routes below /documents, over JSON."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.domain.exceptions import ConflictError
from ragcorp.interface.shapes.documents import DocumentList, Stored, StoredDocument
from support.http.fakes import World

pytestmark = pytest.mark.anyio


def path_of(name: str, suffix: str = "") -> str:
    return f"/documents/{quote(name, safe='')}{suffix}"


async def put(client: httpx.AsyncClient, name: str, **body: Any) -> httpx.Response:
    return await client.put(path_of(name), json={"text": "El plazo es de 30 días."} | body)


async def test_put_says_what_became_of_it(client: httpx.AsyncClient, world: World) -> None:
    first = await put(client, "a.md", title="A")
    assert first.status_code == 201
    assert first.json() == {
        "document_id": first.json()["document_id"],
        "external_id": "a.md",
        "status": "created",
        "chunks": 1,
        "pending": 1,
        "unread": [],
        "parts": 0,
    }
    TypeAdapter(Stored).validate_python(first.json())
    UUID(first.json()["document_id"])
    again = await put(client, "a.md", title="A")
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")
    changed = await put(client, "a.md", title="B")
    assert (changed.status_code, changed.json()["status"]) == (200, "updated")
    assert changed.json()["document_id"] == first.json()["document_id"]
    assert world.woken == 3


async def test_get_describes_a_document(client: httpx.AsyncClient) -> None:
    fields = {
        "title": "Contrato",
        "metadata": {"a": [1, None, {"b": True}]},
        "language": "ca",
        "artifact_type": "contract",
        "sensitivity": "confidential",
        "visibility_scope": "private",
        "owner": "local",
        "occurred_at": "2025-01-15T10:00:00+02:00",
        "path": "s3://x/a.md",
    }
    await put(client, "a.md", **fields)
    answer = await client.get("/documents/a.md")
    assert answer.status_code == 200
    document = answer.json()
    TypeAdapter(StoredDocument).validate_python(document)
    assert {name: document[name] for name in fields} == fields | {"occurred_at": "2025-01-15T08:00:00+00:00"}
    assert document["media_type"] == "text/markdown"
    assert document["deleted_at"] is None
    assert document["size_bytes"] == len("El plazo es de 30 días.".encode())


@pytest.mark.parametrize(
    ("media_type", "inline", "charset"),
    [
        ("text/markdown", True, "; charset=utf-8"),
        ("text/plain", True, "; charset=utf-8"),
        ("text/html", False, "; charset=utf-8"),
    ],
)
async def test_originals_come_back_as_they_went_in(
    client: httpx.AsyncClient, media_type: str, inline: bool, charset: str
) -> None:
    text = "<script>alert(1)</script><p>El plazo.</p>\r\nfin"
    await put(client, "año/página", text=text, media_type=media_type)
    answer = await client.get(path_of("año/página", "/content"))
    assert answer.content == text.encode()
    assert answer.headers["content-type"] == media_type + charset
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    kind = "inline" if inline else "attachment"
    assert answer.headers["content-disposition"] == (f"{kind}; filename=\"pagina\"; filename*=UTF-8''p%C3%A1gina")


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.txt", "text/plain"), ("a.html", "text/html"), ("a.md", "text/markdown"), ("a", "text/markdown")],
)
async def test_the_kind_of_a_text_goes_by_the_name(client: httpx.AsyncClient, name: str, media_type: str) -> None:
    await put(client, name)
    assert (await client.get(path_of(name))).json()["media_type"] == media_type


async def test_nul_becomes_a_space_in_a_text(client: httpx.AsyncClient) -> None:
    assert (await put(client, "a.txt", text="hola\u0000mundo", title="a\u0000b")).status_code == 201
    assert (await client.get("/documents/a.txt/content")).text == "hola mundo"
    assert (await client.get("/documents/a.txt")).json()["title"] == "ab"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": " \n\t\u00a0\u200b"}, "text"),
        ({"text": 5}, "text"),
        ({"text": "a", "title": "a" * 501}, "title"),
        ({"text": "a", "title": 7}, "title"),
        ({"text": "a", "language": "Spanish"}, "language"),
        ({"text": "a", "language": ""}, "language"),
        ({"text": "a", "language": "xx"}, "language"),
        ({"text": "a", "language": "zzz"}, "language"),
        ({"text": "a", "sensitivity": "secret"}, "sensitivity"),
        ({"text": "a", "visibility_scope": "all"}, "visibility_scope"),
        ({"text": "a", "owner": "a" * 201}, "owner"),
        ({"text": "a", "owner": "\u0000"}, "owner"),
        ({"text": "a", "artifact_type": "\u0000"}, "artifact_type"),
        ({"text": "a", "path": "\u0000"}, "path"),
        ({"text": "a", "path": "a" * 1001}, "path"),
        ({"text": "a", "occurred_at": "ayer"}, "occurred_at"),
        ({"text": "a", "occurred_at": 1700000000}, "occurred_at"),
        ({"text": "a", "occurred_at": "1700000000"}, "occurred_at"),
        ({"text": "a", "occurred_at": "0001-01-01T00:00:00+14:00"}, "occurred_at"),
        ({"text": "a", "metadata": []}, "metadata"),
        ({"text": "a", "metadata": {"a": "b" * 16_384}}, "metadata"),
        ({"text": "a", "metadata": {"a": "\u0000"}}, "metadata"),
        ({"text": "a", "metadata": {"\u0000": 1}}, "metadata"),
        ({"text": "a", "metadata": {"a": [[[[[[[[[[1]]]]]]]]]]}}, "metadata"),
        ({"text": "a", "media_type": "application/pdf"}, "media_type"),
        ({"text": "a", "external_id": "b"}, "body"),
        ({"text": "a", "content": "b"}, "body"),
    ],
)
async def test_what_cannot_be_stored_is_refused_and_leaves_nothing(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await client.put("/documents/a.txt", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field
    assert (await client.get("/documents/a.txt")).status_code == 404


async def test_lists_go_by_name_in_pages(client: httpx.AsyncClient) -> None:
    for name in ("b/1", "a/2", "a/1", "a/3", "c"):
        await put(client, name)
    answer = await client.get("/documents", params={"prefix": "a/", "limit": 2})
    TypeAdapter(DocumentList).validate_python(answer.json())
    page = answer.json()
    assert [document["external_id"] for document in page["documents"]] == ["a/1", "a/2"]
    rest = (await client.get("/documents", params={"prefix": "a/", "limit": 2, "cursor": page["next_cursor"]})).json()
    assert [document["external_id"] for document in rest["documents"]] == ["a/3"]
    assert rest["next_cursor"] is None


async def test_lists_take_filters_and_show_the_deleted(client: httpx.AsyncClient) -> None:
    await put(client, "a", language="es")
    await put(client, "b", language="ca")

    async def names(**params: Any) -> list[str]:
        answer = await client.get("/documents", params=params)
        assert answer.status_code == 200, answer.text
        return [document["external_id"] for document in answer.json()["documents"]]

    assert await names(filters=json.dumps({"language": ["ca", "de"]})) == ["b"]
    await client.delete("/documents/b")
    assert await names() == ["a"]
    assert await names(deleted="true") == ["b"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"limit": "diez"}, "limit"),
        ({"cursor": "###"}, "cursor"),
        ({"cursor": "-"}, "cursor"),
        ({"prefix": "a" * 501}, "prefix"),
        ({"prefix": "\u0000"}, "prefix"),
        ({"deleted": "perhaps"}, "deleted"),
        ({"filters": "{"}, "filters"),
        ({"filters": "[]"}, "filters"),
        ({"filters": '{"a":NaN}'}, "filters"),
        ({"filters": '{"a":1,"a":2}'}, "filters"),
        ({"filters": '{"a":"\\ud800"}'}, "filters"),
        ({"filters": '{"a":{"b":1}}'}, "filters"),
        ({"filters": "[" * 40}, "filters"),
        ({"unknown": "1"}, "query"),
    ],
)
async def test_bad_parameters_are_named(client: httpx.AsyncClient, params: dict[str, Any], field: str) -> None:
    answer = await client.get("/documents", params=params)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field


async def test_a_selection_is_deleted_and_an_empty_one_refused(client: httpx.AsyncClient) -> None:
    for name in ("a/1", "a/2", "b"):
        await put(client, name, language="ca" if name == "b" else "es")
    assert (await client.delete("/documents")).status_code == 422
    assert (await client.delete("/documents", params={"prefix": ""})).status_code == 422
    assert (await client.delete("/documents", params={"filters": "{}"})).status_code == 422
    assert (await client.delete("/documents", params={"deleted": "true"})).status_code == 422
    assert (await client.delete("/documents", params={"prefix": "a/"})).json() == {"deleted": 2}
    assert (await client.delete("/documents", params={"prefix": "a/"})).json() == {"deleted": 0}
    assert (await client.delete("/documents", params={"filters": '{"language":"ca"}'})).json() == {"deleted": 1}


async def test_what_is_not_there_is_not_found(client: httpx.AsyncClient) -> None:
    for method, path in (
        ("GET", "/documents/a"),
        ("GET", "/documents/a/content"),
        ("DELETE", "/documents/a"),
        ("POST", "/documents/a/restore"),
    ):
        answer = await client.request(method, path)
        assert answer.status_code == 404
        assert answer.json()["code"] == "not_found"


async def test_a_conflict_is_409(client: httpx.AsyncClient, world: World) -> None:
    world.repository.fault.error = ConflictError("Another write got in the way.", remedy="Try again.")
    answer = await put(client, "a")
    assert answer.status_code == 409
    assert answer.json()["detail"] == "Another write got in the way. Try again."


async def test_head_is_get_without_a_body(client: httpx.AsyncClient) -> None:
    await put(client, "a")
    for path in ("/documents/a", "/documents/a/content", "/documents", "/healthz", "/openapi.json"):
        get, head = await client.get(path), await client.head(path)
        assert head.status_code == get.status_code == 200
        assert head.content == b""
        assert head.headers["content-length"] == get.headers["content-length"]
    assert (await client.head("/documents/none")).status_code == 404
    assert (await client.head("/search")).status_code == 405
