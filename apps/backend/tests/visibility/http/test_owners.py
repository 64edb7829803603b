"""The field `owner` of a body plants nothing in another's private space or group, on no way of writing."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

MEMORY, ARTIFACTS = "/collections/memory/items", "/collections/artifacts/items"
ENTITY = {"name": "Goa", "kind": "place"}
FACT = {"subject": "Rajesh", "object": "Priya", "predicate": "knows"}
NDJSON = {"Content-Type": "application/x-ndjson"}
OTHERS = ({"visibility_scope": "private", "owner": "root"}, {"visibility_scope": "group", "owner": "root"})
LABEL = {"visibility_scope": "workspace", "owner": "root"}


async def writes(client: httpx.AsyncClient, fields: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Return status and text of each way of writing, by its name; of a bulk request, of its only line."""
    sent = {
        "PUT /documents/a.md": {"text": "Uno."},
        f"PUT {MEMORY}/m": {"text": "Uno."},
        f"POST {MEMORY}": {"text": "Dos."},
        f"PATCH {MEMORY}/kept": {},
        f"PUT {ARTIFACTS}/c.md": {"text": "Uno."},
        f"PATCH {ARTIFACTS}/kept.md": {},
        "POST /graph/entities": ENTITY,
        "PUT /graph/entities/e": ENTITY,
        "POST /graph/facts": FACT,
        "PUT /graph/facts/f": FACT,
    }
    answers = {}
    for name, body in sent.items():
        method, path = name.split(" ")
        answer = await client.request(method, path, json={**body, **fields})
        answers[name] = (answer.status_code, answer.text)
    lines = {
        "/documents/bulk": {"external_id": "b.md", "text": "Uno."},
        f"{MEMORY}/bulk": {"external_id": "n", "text": "Uno."},
        "/graph/bulk": {"type": "entity", "name": "Pune", "kind": "place"},
    }
    for path, line in lines.items():
        answer = await client.post(path, content=json.dumps({**line, **fields}), headers=NDJSON)
        first = json.loads(answer.text.splitlines()[0])
        answers[path] = (422 if "error" in first else answer.status_code, json.dumps(first))
    return answers


@pytest.mark.parametrize("others", OTHERS, ids=lambda fields: fields["visibility_scope"])
async def test_nothing_is_stored_as_anothers(client: httpx.AsyncClient, others: dict[str, str]) -> None:
    await client.put(f"{MEMORY}/kept", json={"text": "Queda.", **LABEL})
    await client.put(f"{ARTIFACTS}/kept.md", json={"text": "Queda.", **LABEL})
    for way, (status, text) in (await writes(client, others)).items():
        assert status == 422, (way, text)
        assert '"owner"' in text, way
        assert "root" not in text, way
    # neither by leaving the owner that is there
    for path in (f"{MEMORY}/kept", f"{ARTIFACTS}/kept.md"):
        assert (await client.patch(path, json={"visibility_scope": others["visibility_scope"]})).status_code == 422


async def test_of_what_the_workspace_reads_an_owner_is_a_label(client: httpx.AsyncClient) -> None:
    await client.put(f"{MEMORY}/kept", json={"text": "Queda."})
    await client.put(f"{ARTIFACTS}/kept.md", json={"text": "Queda."})
    for way, (status, text) in (await writes(client, LABEL)).items():
        assert status in (200, 201), (way, text)
    for path in ("/documents/a.md", f"{MEMORY}/m", "/graph/entities/e", "/graph/facts/f"):
        shown = await client.get(path)
        assert (shown.status_code, shown.json()["owner"]) == (200, "root"), path
