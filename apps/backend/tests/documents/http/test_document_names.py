"""Names of documents in paths, and of files in headers."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.exceptions import InvalidInputError, StorageUnavailableError
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.protocol.document_names import base_name, disposition, filename_in
from support.http.fakes import World

pytestmark = pytest.mark.anyio


def path_of(name: str, suffix: str = "") -> str:
    return f"/documents/{quote(name, safe='')}{suffix}"


async def put(client: httpx.AsyncClient, name: str, **body: Any) -> httpx.Response:
    return await client.put(path_of(name), json={"text": "El plazo es de 30 días."} | body)


@pytest.mark.parametrize(
    "name",
    [
        "simple",
        "contratos/2025/marco.md",
        "con espacio.md",
        "año/ñandú — 草.md",
        "100%/a?b#c&d=e+f.md",
        "a/content",
        "content",
        "a/restore",
        "restore",
        "bulk",
        "a//b",
        "/a",
        "a/",
        "../a",
        "a\\b",
        '"quoted"',
        "%2F",
        "v1/search",
        "🙂",
    ],
)
async def test_any_name_can_be_reached(client: httpx.AsyncClient, name: str) -> None:
    assert (await put(client, name)).json()["external_id"] == name
    assert (await client.get(path_of(name))).json()["external_id"] == name
    original = await client.get(path_of(name, "/content"))
    assert original.text == "El plazo es de 30 días."
    assert (await client.delete(path_of(name))).status_code == 204
    assert (await client.get(path_of(name))).status_code == 404
    assert (await client.post(path_of(name, "/restore"))).json()["external_id"] == name
    assert (await client.get(path_of(name))).status_code == 200


async def test_a_plain_suffix_is_an_action_and_an_escaped_one_a_name(client: httpx.AsyncClient) -> None:
    await put(client, "a", text="de a")
    await put(client, "a/content", text="de a/content")
    assert (await client.get("/documents/a/content")).text == "de a"
    assert (await client.get("/documents/a%2Fcontent")).json()["external_id"] == "a/content"
    assert (await client.get("/documents/a%2Fcontent/content")).text == "de a/content"
    assert (await client.get("/v1/documents/a%2Fcontent/content")).text == "de a/content"


async def test_slashes_in_a_name_may_stay(client: httpx.AsyncClient) -> None:
    assert (await client.put("/documents/a/b/c.md", json={"text": "Hola."})).json()["external_id"] == "a/b/c.md"
    assert (await client.get("/documents/a/b/c.md")).status_code == 200
    assert (await client.get("/documents/a%2Fb%2Fc.md")).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/documents/%FF", "/documents/%ED%A0%80", "/documents/", "/documents/%00", "/documents/%0A", "/documents/%20"],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_a_name_that_is_no_name_is_refused(client: httpx.AsyncClient, path: str, method: str) -> None:
    answer = await client.request(method, path, json={"text": "Hola."} if method == "PUT" else None)
    # a name that nothing can be stored under is not found, or refused as not valid
    assert answer.status_code in ((422,) if method == "PUT" else (404, 422))
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_name_that_is_too_long_is_refused(client: httpx.AsyncClient) -> None:
    answer = await put(client, "a" * 501)
    assert answer.status_code == 422
    assert answer.json()["errors"][0] == {
        "field": "external_id",
        "message": "external_id must have 1 to 500 characters.",
        "limit": "500 characters",
        "remedy": "Shorten external_id.",
    }


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/documents/a%00b"),
        ("GET", "/documents/a%00b/content"),
        ("POST", "/documents/a%00b/restore"),
        ("DELETE", "/documents/a%00b"),
        ("DELETE", "/documents?prefix=%00"),
    ],
)
async def test_nul_in_a_name_is_refused_before_the_database(
    client: httpx.AsyncClient, world: World, method: str, path: str
) -> None:
    world.repository.fault.error = StorageUnavailableError("out", reason="unreachable")
    answer = await client.request(method, path)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] in ("external_id", "prefix")


@pytest.mark.parametrize("name", ["\ud800", "a\x00b"])
async def test_use_cases_refuse_what_can_name_no_document(world: World, name: str) -> None:
    services, caller = world.services().use_cases, Principal()
    for call in (
        services.documents.get(name, principal=caller),
        services.documents.get_source(name, principal=caller),
        services.delete.delete(name, principal=caller),
        services.delete.delete_selection(DocumentSelection(prefix=name), principal=caller),
        services.restore.restore(name, principal=caller),
    ):
        with pytest.raises(InvalidInputError):
            await call


@given(st.text())
def test_a_disposition_is_ascii_and_keeps_the_name(name: str) -> None:
    shown = base_name(name)
    header = disposition(shown, inline=False)
    assert header.isascii()
    assert header.isprintable()
    assert len(shown) <= 200
    assert "/" not in shown
    assert filename_in(header) == base_name(shown) or not shown
