"""Cursors, prefixes and filters of lists: what is none of theirs is refused by each list alike."""

from __future__ import annotations

import base64

import httpx
import pytest

pytestmark = pytest.mark.anyio

ITEMS = [f"/collections/{name}/items" for name in ("memory", "history", "artifacts", "artifact_chunks")]
LISTS = [*ITEMS, "/documents", "/graph/entities", "/graph/facts"]


def field_of(answer: httpx.Response) -> str:
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    return str(error["field"])


def coded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "W10",
        "MQ==",
        "MQ",
        "ñ",
        coded(""),
        coded("name:"),
        coded("chunk:"),
        coded("other:a"),
        f"{coded('name:a')}==",
    ],
)
async def test_a_foreign_cursor(client: httpx.AsyncClient, path: str, cursor: str) -> None:
    assert field_of(await client.get(path, params={"cursor": cursor})) == "cursor"


async def test_a_cursor_of_names_is_none_of_passages(client: httpx.AsyncClient) -> None:
    for name in "abc":
        assert (await client.put(f"/documents/{name}.md", json={"text": name})).status_code == 201
    names = (await client.get("/documents", params={"limit": 1})).json()["next_cursor"]
    passages = (await client.get(ITEMS[-1], params={"limit": 1})).json()["next_cursor"]
    assert names
    assert passages
    assert field_of(await client.get(ITEMS[-1], params={"cursor": names})) == "cursor"
    assert field_of(await client.get("/documents", params={"cursor": passages})) == "cursor"
    assert (await client.get("/documents", params={"cursor": names})).status_code == 200


@pytest.mark.parametrize("path", LISTS)
async def test_what_is_not_utf_8(client: httpx.AsyncClient, path: str) -> None:
    assert field_of(await client.get(f"{path}?prefix=%ff")) == "query"
    assert field_of(await client.get(f"{path}?prefix=a&limit=%c3")) == "query"
    assert (await client.get(f"{path}?prefix=%c3%b1%EF%BF%BD")).status_code == 200


@pytest.mark.parametrize("path", [*LISTS, "/collections/facets"])
@pytest.mark.parametrize(
    "filters",
    [
        '{"collection":"nope"}',
        '{"collection":["memory","nope"]}',
        '{"collection":{"$ne":"nope"}}',
        '{"$or":[{"language":"es"},{"$not":{"collection":"nope"}}]}',
    ],
)
async def test_a_collection_that_there_is_not(client: httpx.AsyncClient, path: str, filters: str) -> None:
    answer = await client.get(path, params={"filters": filters})
    assert field_of(answer) == "filters.collection"
    assert answer.json()["errors"][0]["limit"] == "artifacts, artifact_chunks, memory, history, graph"
    assert "nope" not in answer.text


@pytest.mark.parametrize("path", [*LISTS, "/collections/facets"])
async def test_a_collection_that_there_is(client: httpx.AsyncClient, path: str) -> None:
    for name in ("artifacts", "artifact_chunks", "memory", "history", "graph"):
        assert (await client.get(path, params={"filters": f'{{"collection":"{name}"}}'})).status_code == 200


async def test_a_deletion_of_a_collection_that_there_is_not(client: httpx.AsyncClient) -> None:
    for path in (*ITEMS[:3], "/documents"):
        answer = await client.request("DELETE", path, params={"filters": '{"collection":"nope"}'})
        assert field_of(answer) == "filters.collection"
