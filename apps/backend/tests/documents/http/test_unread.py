"""Responses name what was not read of a file."""

from __future__ import annotations

import json

import httpx
import pytest

from support.parsing.partly_read import archive_with_a_program, pdf_with_scanned_pages

pytestmark = pytest.mark.anyio

PAGES = [{"kind": "page", "count": 2, "places": ["2", "4"]}]


async def test_a_write_and_a_read_name_it(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/pdf"}
    for status in (201, 200):
        answer = await client.put("/documents/plazos.pdf", content=pdf_with_scanned_pages(), headers=headers)
        assert (answer.status_code, answer.json()["unread"]) == (status, PAGES)
    assert (await client.get("/documents/plazos.pdf")).json()["unread"] == PAGES
    (listed,) = (await client.get("/documents")).json()["documents"]
    assert listed["unread"] == PAGES


async def test_a_form_names_it(client: httpx.AsyncClient) -> None:
    answer = await client.put("/documents/a.zip", files={"file": ("a.zip", archive_with_a_program())})
    assert answer.json()["unread"] == [{"kind": "member", "count": 1, "places": ["programa.exe"]}]


async def test_a_line_of_a_bulk_request_names_it(client: httpx.AsyncClient) -> None:
    html = "<p>El plazo es de 30 días.</p><iframe src='https://example.com/anexo'></iframe>"
    rows = [
        {"external_id": "a.html", "text": html, "media_type": "text/html"},
        {"external_id": "b.md", "text": "El plazo es de 30 días."},
    ]
    body = "".join(json.dumps(row) + "\n" for row in rows).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    answer = await client.post("/documents/bulk", content=body, headers=headers)
    outcomes = [json.loads(row) for row in answer.text.splitlines()]
    assert [outcome.get("unread") for outcome in outcomes] == [
        [{"kind": "embedded_object", "count": 1, "places": []}],
        [],
        None,
    ]


async def test_a_change_of_attributes_keeps_it(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/pdf"}
    await client.put("/documents/plazos.pdf", content=pdf_with_scanned_pages(), headers=headers)
    changed = await client.patch("/collections/artifacts/items/plazos.pdf", json={"title": "Plazos"})
    assert (changed.status_code, changed.json()["unread"]) == (200, PAGES)
    assert (await client.get("/documents/plazos.pdf")).json()["unread"] == PAGES
