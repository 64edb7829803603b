"""Documents of the files inside a file, over HTTP."""

from __future__ import annotations

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.interface.shapes.documents import DescribedDocument
from support.parsing.kinds import zipped
from support.parsing.mails import mail_with

pytestmark = pytest.mark.anyio

NOTE = b"# Nota\n\nLa franquicia es de 900 euros.\n"


async def put(client: httpx.AsyncClient, name: str, content: bytes) -> httpx.Response:
    return await client.put(f"/documents/{name}", files={"file": (name, content)})


async def test_a_mail_and_its_attachment(client: httpx.AsyncClient) -> None:
    answer = await put(client, "a.eml", mail_with({"nota.md": NOTE, "foto.exe": b"MZ"}))
    assert (answer.status_code, answer.json()["parts"]) == (201, 1)
    assert answer.json()["unread"] == [{"kind": "attachment", "count": 1, "places": ["foto.exe"]}]
    whole = (await client.get("/documents/a.eml")).json()
    TypeAdapter(DescribedDocument).validate_python(whole)
    assert (whole["part_of"], whole["parts"]) == (None, ["a.eml/nota.md"])
    part = (await client.get("/documents/a.eml%2Fnota.md")).json()
    assert (part["part_of"], part["parts"], part["filename"]) == ("a.eml", [], "nota.md")
    assert (await client.get("/documents/a.eml%2Fnota.md/content")).content == NOTE
    listed = (await client.get("/documents")).json()["documents"]
    assert [(each["external_id"], each["part_of"]) for each in listed] == [("a.eml", None), ("a.eml/nota.md", "a.eml")]
    again = await put(client, "a.eml", mail_with({"nota.md": NOTE}))
    assert (again.status_code, again.json()["status"], again.json()["parts"]) == (200, "updated", 1)


async def test_a_part_is_not_written_by_itself(client: httpx.AsyncClient) -> None:
    await put(client, "a.zip", zipped({"nota.md": NOTE}))
    answer = await client.put("/documents/a.zip%2Fnota.md", json={"text": "Otra."})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert (await client.delete("/documents/a.zip")).status_code == 204
    assert (await client.get("/documents/a.zip%2Fnota.md")).status_code == 404
    refused = await client.post("/documents/a.zip%2Fnota.md/restore")
    assert (refused.status_code, refused.json()["errors"][0]["remedy"]) == (
        409,
        "Restore that document: its parts come back with it.",
    )
    restored = await client.post("/documents/a.zip/restore")
    assert (restored.status_code, restored.json()["parts"]) == (200, 1)
