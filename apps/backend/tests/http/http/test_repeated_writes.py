"""Writes are keyed by name or content: each kind of write, sent twice, changes the database once."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

LINES = {"Content-Type": "application/x-ndjson"}
TURN = {"text": "Sí.", "speaker": "Priya", "timestamp": "2026-03-01T10:00:00Z"}
ANA = {"name": "Ana", "kind": "person"}
FACT = {"subject": {"name": "Ana"}, "predicate": "dirige", "object": {"name": "Acme"}}
FILE = {"file": ("c.txt", b"El plazo es de diez dias.", "text/plain")}

STORING: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", "/documents/a", {"json": {"text": "El plazo es de 30 días."}}),
    ("PUT", "/documents/b.md", {"content": b"# Plazo\n\nDiez.\n", "headers": {"Content-Type": "text/markdown"}}),
    ("PUT", "/documents/c.txt", {"files": FILE}),
    ("PUT", "/collections/artifacts/items/d", {"json": {"text": "Otro documento."}}),
    ("POST", "/collections/memory/items", {"json": {"text": "Una nota."}}),
    ("PUT", "/collections/memory/items/m", {"json": {"text": "Otra nota."}}),
    ("POST", "/collections/history/items", {"json": TURN}),
    ("PUT", "/collections/history/items/h", {"json": TURN}),
    ("POST", "/graph/entities", {"json": ANA}),
    ("PUT", "/graph/entities/e", {"json": {"name": "Acme", "kind": "organization"}}),
    ("POST", "/graph/facts", {"json": FACT}),
    ("PUT", "/graph/facts/f", {"json": FACT | {"predicate": "fundó"}}),
]
BULK = [
    ("/documents/bulk", [{"external_id": "bulk", "text": "Texto."}]),
    ("/collections/memory/items/bulk", [{"text": "Nota de un lote."}]),
    ("/collections/history/items/bulk", [TURN | {"text": "No."}]),
    (
        "/graph/bulk",
        [{"type": "entity", "name": "Luis", "kind": "person"}, {"type": "fact", **FACT, "predicate": "conoce"}],
    ),
]
LISTS = (
    "/documents",
    *(f"/collections/{name}/items" for name in ("artifacts", "memory", "history")),
    "/graph/entities",
    "/graph/facts",
)


async def contents(client: httpx.AsyncClient) -> dict[str, list[dict[str, Any]]]:
    """Return all that is stored, apart from ``pending``, which falls when vectors arrive."""
    results = {}
    for path in LISTS:
        answer = (await client.get(path, params={"limit": 50})).raise_for_status().json()
        (entries,) = [part for part in answer.values() if isinstance(part, list)]
        results[path] = [{name: value for name, value in entry.items() if name != "pending"} for entry in entries]
    return results


async def test_stored_twice(database_client: httpx.AsyncClient) -> None:
    for method, path, body in STORING:
        first = await database_client.request(method, path, **body)
        assert first.status_code == 201, (path, first.text)
        before = await contents(database_client)
        again = await database_client.request(method, path, **body)
        assert (again.status_code, again.json()["status"]) == (200, "unchanged"), (path, again.text)
        assert again.json()["external_id"] == first.json()["external_id"]
        assert await contents(database_client) == before, path


async def test_loaded_twice(database_client: httpx.AsyncClient) -> None:
    for path, entries in BULK:
        body = "\n".join(map(json.dumps, entries))
        summaries, stored = [], []
        for _ in range(2):
            answer = await database_client.post(path, content=body, headers=LINES)
            summaries.append(json.loads(answer.text.splitlines()[-1])["summary"])
            stored.append(await contents(database_client))
        nothing = {"created": 0, "updated": 0, "unchanged": 0, "failed": 0}
        assert summaries == [nothing | {"created": len(entries)}, nothing | {"unchanged": len(entries)}], path
        assert stored[0] == stored[1], path


async def test_changed_twice(database_client: httpx.AsyncClient) -> None:
    await database_client.put("/collections/memory/items/m", json={"text": "Una nota."})
    for status in ("updated", "unchanged"):
        changed = await database_client.patch("/collections/memory/items/m", json={"text": "Otra nota."})
        assert (changed.status_code, changed.json()["status"]) == (200, status)


async def test_deleted_and_restored_twice(database_client: httpx.AsyncClient) -> None:
    for method, path, body in STORING:
        await database_client.request(method, path, **body)
    statuses = []
    for method, path in [("DELETE", "/documents/a"), ("POST", "/documents/a/restore")]:
        statuses += [(await database_client.request(method, path)).status_code for _ in range(2)]
    for path in ("/collections/memory/items/m", "/graph/facts/f", "/graph/entities/e"):
        statuses += [(await database_client.delete(path)).status_code for _ in range(2)]
    assert statuses == [204, 404, 200, 404, *(204, 404) * 3]
    for path, prefix in [("/documents", "b"), ("/collections/history/items", "h")]:
        deleted = [(await database_client.delete(path, params={"prefix": prefix})).json() for _ in range(2)]
        assert deleted == [{"deleted": 1}, {"deleted": 0}]
