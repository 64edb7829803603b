"""PUT of files: as a form, and as the file itself."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.datastructures import UploadFile

from ragcorp.interface.http import call
from support.fixtures.http import MakeApp, Serve
from support.http.fakes import World

pytestmark = pytest.mark.anyio

MARKDOWN = "# Contrato\n\nEl plazo es de 30 días.\n".encode()


def form(content: bytes = MARKDOWN, filename: str = "contrato.md", media_type: str = "text/markdown") -> dict[str, Any]:
    return {"file": (filename, content, media_type)}


async def test_a_form_stores_a_file_with_its_fields(client: httpx.AsyncClient) -> None:
    fields = {
        "title": "Marco",
        "metadata": json.dumps({"año": 2025}),
        "language": "es",
        "sensitivity": "public",
        "occurred_at": "2025-01-15",
        "owner": "",
    }
    answer = await client.put("/documents/a", files=form(), data=fields)
    assert answer.status_code == 201, answer.text
    document = (await client.get("/documents/a")).json()
    assert document["title"] == "Marco"
    assert document["metadata"] == {"año": 2025}
    assert document["sensitivity"] == "public"
    assert document["occurred_at"] == "2025-01-15T00:00:00+00:00"
    assert document["filename"] == "contrato.md"
    original = await client.get("/documents/a/content")
    assert original.content == MARKDOWN
    assert original.headers["content-disposition"].startswith('inline; filename="contrato.md"')


@pytest.mark.parametrize(
    ("files", "data", "field"),
    [
        ({}, {"title": "x"}, "filename"),
        ({"other": ("a.md", MARKDOWN)}, {}, "body"),
        ([("file", ("a.md", MARKDOWN)), ("file", ("b.md", MARKDOWN))], {}, "body"),
        (form(), {"unknown": "x"}, "body"),
        (form(), {"title": ["a", "b"]}, "body"),
        (form(), {"metadata": "{"}, "metadata"),
        (form(), {"metadata": "[]"}, "metadata"),
        (form(), {"metadata": '{"a":1,"a":2}'}, "metadata"),
        (form(), {"metadata": '{"a":Infinity}'}, "metadata"),
        (form(), {"language": "Spanish"}, "language"),
        (form(), {"title": "a" * 70_000}, "body"),
        (form(b""), {}, "content"),
        (form(filename="..."), {"text": "x"}, "body"),
    ],
)
async def test_a_bad_form_is_refused(client: httpx.AsyncClient, files: Any, data: dict[str, Any], field: str) -> None:
    answer = await client.put("/documents/a", files=files, data=data)
    assert answer.status_code == (415 if field == "filename" else 422), answer.text
    assert answer.json()["errors"][0]["field"] == field
    assert (await client.get("/documents/a")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--x",
        b"--x--",
        b"garbage",
        b"--x\r\n\r\nno name\r\n--x--",
        b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--",
    ],
)
async def test_what_is_no_form_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    for content_type in ("multipart/form-data; boundary=x", "multipart/form-data"):
        answer = await client.put("/documents/a", content=body, headers={"Content-Type": content_type})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] in ("body", "file")


@pytest.mark.parametrize(
    "charset", ["utf-16", "unicode_escape", "utf-7", "punycode", "base64", "none-such", "raw_unicode_escape"]
)
async def test_an_odd_charset_of_a_form_breaks_nothing(client: httpx.AsyncClient, charset: str) -> None:
    body = (
        b"--x\r\nContent-Disposition: form-data; name=title\r\n\r\n\\ud800 a\xff\r\n"
        b"--x\r\nContent-Disposition: form-data; name=file; filename=\\ud800.md\r\n\r\nhola\r\n--x--\r\n"
    )
    headers = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    answer = await client.put("/documents/a", content=body, headers=headers)
    assert answer.status_code == 415
    assert answer.json()["errors"][0]["limit"] == "charset=utf-8"


@pytest.mark.parametrize(
    ("content_type", "disposition", "name", "media_type", "filename"),
    [
        ("text/markdown", None, "a", "text/markdown", ""),
        ("text/plain; charset=utf-8", None, "a.md", "text/plain", ""),
        ("TEXT/PLAIN", None, "a", "text/plain", ""),
        ("application/octet-stream", None, "x/a.md", "text/markdown", "a.md"),
        ("application/octet-stream", 'attachment; filename="b.txt"', "a", "text/plain", "b.txt"),
        ("text/plain", "attachment; filename*=UTF-8''a%C3%B1o.md", "a", "text/markdown", "año.md"),
        ("text/plain", 'attachment; filename="../../etc/b.md"', "a", "text/markdown", "b.md"),
        ("text/plain", 'attachment; filename="C:\\\\x\\\\b.md"', "a", "text/markdown", "b.md"),
        ("text/plain", "attachment; filename*=none-such''%FF", "a", "text/plain", None),
        ("text/plain", "%%%;;;===", "a", "text/plain", ""),
    ],
)
async def test_a_raw_file_goes_by_its_headers(
    client: httpx.AsyncClient,
    content_type: str,
    disposition: str | None,
    name: str,
    media_type: str,
    filename: str | None,
) -> None:
    headers = {"Content-Type": content_type} | ({"Content-Disposition": disposition} if disposition else {})
    answer = await client.put(f"/documents/{name}", content=MARKDOWN, headers=headers)
    assert answer.status_code == 201, answer.text
    document = (await client.get(f"/documents/{name}")).json()
    assert document["media_type"] == media_type
    if filename is not None:
        assert document["filename"] == filename


@pytest.mark.parametrize(
    "content_type", ["", "application/x-www-form-urlencoded", "image/gif", "application/octet-stream", "a", "text/json"]
)
async def test_a_kind_that_no_parser_takes_is_415(client: httpx.AsyncClient, content_type: str) -> None:
    answer = await client.put("/documents/a", content=b"x", headers={"Content-Type": content_type})
    assert answer.status_code == 415
    assert answer.json()["code"] == "unsupported_media_type"
    assert answer.json()["errors"][0]["remedy"]


async def test_a_damaged_file_is_unreadable(client: httpx.AsyncClient) -> None:
    docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    for content in (b"no zip", _zip({"a": b"b"})):
        answer = await client.put("/documents/a", content=content, headers={"Content-Type": docx})
        assert answer.status_code == 422
        assert answer.json()["code"] == "unreadable_document"


async def test_text_in_another_charset_is_served_without_naming_one(client: httpx.AsyncClient) -> None:
    content = "El año pasado costó más.".encode("cp1252")
    await client.put("/documents/a.txt", content=content, headers={"Content-Type": "text/plain"})
    answer = await client.get("/documents/a.txt/content")
    assert answer.content == content
    assert answer.headers["content-type"] == "text/plain"


@pytest.mark.parametrize("kind", ["raw", "form"])
async def test_a_file_may_be_larger_than_json_but_not_without_bound(make_app: MakeApp, serve: Serve, kind: str) -> None:
    async def send(url: str, size: int) -> httpx.Response:
        content = b"palabra " * (size // 8)
        async with httpx.AsyncClient(base_url=url, timeout=20) as client:
            if kind == "form":
                return await client.put("/documents/a", files=form(content, "a.txt", "text/plain"))
            return await client.put("/documents/a", content=content, headers={"Content-Type": "text/plain"})

    async with serve(make_app(max_body_bytes=1024, max_file_bytes=100_000)) as url:
        assert (await send(url, 90_000)).status_code == 201
        refused = await send(url, 600_000)
        assert refused.status_code == 413
        (error,) = refused.json()["errors"]
        assert error["limit"] == "100000 bytes"
        assert "MAX_FILE_BYTES" in error["remedy"]
        assert (await send(url, 90_000)).status_code == 200


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("head", [b"X-A: " + b"a" * 8192 + b"\r\n", b"a: b\r\n" * 100], ids=["long", "many"])
async def test_the_head_of_a_part_is_bounded(client: httpx.AsyncClient, head: bytes) -> None:
    disposition = b'Content-Disposition: form-data; name="file"; filename="a.md"\r\n'
    body = b"--x\r\n" + head + disposition + b"\r\n" + MARKDOWN + b"\r\n--x--\r\n"
    answer = await client.put("/documents/a", content=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "body"


async def test_a_file_of_many_lines_comes_whole_and_in_few_writes(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = 0
    write = UploadFile.write

    async def counted(self: UploadFile, data: bytes) -> None:
        nonlocal writes
        writes += 1
        await write(self, data)

    monkeypatch.setattr(UploadFile, "write", counted)
    content = b"Hola.\r\n--b\r\r\n" * 3000
    assert (await client.put("/documents/a", files=form(content))).status_code == 201
    assert (await client.get("/documents/a/content")).content == content
    assert writes < 10


async def test_a_large_text_has_more_time_than_a_small_one(
    world: World, make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    save = world.repository.save_many

    async def slow(*given: Any, **named: Any) -> Any:
        await asyncio.sleep(0.6)
        return await save(*given, **named)

    monkeypatch.setattr(world.repository, "save_many", slow)
    monkeypatch.setattr(call, "INDEXED_BYTES_A_SECOND", 100)
    large = "palabra " * 250
    async with make_client(make_app(request_timeout_seconds=0.4)) as client:
        assert (await client.put("/documents/a", json={"text": "Hola."})).status_code == 503
        assert (await client.put("/documents/b", json={"text": large})).status_code == 201
        assert (await client.put("/documents/c.md", files=form(large.encode()))).status_code == 201
        raw = {"Content-Type": "text/plain"}
        assert (await client.put("/documents/d.txt", content=large.encode(), headers=raw)).status_code == 201
        item = {"external_id": "e.md", "text": large}
        assert (await client.post("/collections/artifacts/items", json=item)).status_code == 201
