"""POST /collections/{collection}/items/bulk, and that no error of these paths repeats what was sent."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from validation.http.test_no_echo import CANARY, bad_bodies, check

from ragcorp.domain.exceptions import StorageUnavailableError
from support.http.fakes import World

pytestmark = pytest.mark.anyio

HEADERS = {"Content-Type": "application/x-ndjson"}
MEMORY: dict[str, Any] = {
    "external_id": "m",
    "text": "Hola.",
    "artifact_type": "fact",
    "kind": "fact",
    "language": "es",
    "sensitivity": "normal",
    "visibility_scope": "workspace",
    "owner": "o",
    "occurred_at": "2026-01-01",
    "session": "s",
    "speaker": "p",
    "entities": ["e"],
    "metadata": {"a": {"b": [1]}},
}
TURN = {name: value for name, value in MEMORY.items() if name not in ("kind", "artifact_type")} | {
    "artifact_type": "turn",
    "timestamp": "2026-01-01",
}


async def bulk(client: httpx.AsyncClient, collection: str, *rows: Any) -> list[dict[str, Any]]:
    body = b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)
    answer = await client.post(f"/collections/{collection}/items/bulk", content=body, headers=HEADERS)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_a_chat_export_comes_in_under_its_usual_names(client: httpx.AsyncClient, world: World) -> None:
    rows = await bulk(
        client,
        "history",
        {
            "session": "a",
            "speaker": "Rajesh",
            "timestamp": "2026-03-02T18:40:00Z",
            "text": "Uno.",
            "external_id": "t/1",
        },
        {"conversation_id": "a", "role": "user", "created_at": 1772476801, "content": "Dos."},
        {"session_id": "a", "author": {"role": "assistant"}, "ts": "1772476802.5", "message": {"text": "Tres."}},
        {"thread_id": 7, "from": "Priya", "time": 1772476803000, "content": [{"type": "text", "text": "Cua"}, "tro."]},
    )
    assert [row.get("status") for row in rows[:-1]] == ["created"] * 4
    assert rows[-1]["summary"] == {"created": 4, "updated": 0, "unchanged": 0, "failed": 0}
    assert world.woken == 1
    told = [
        (d.session, d.speaker, d.attributes.occurred_at and d.attributes.occurred_at.isoformat(), d.text)
        for d in await world.turns()
    ]
    assert sorted(told, key=lambda turn: str(turn[2])) == [
        ("a", "Rajesh", "2026-03-02T18:40:00+00:00", "Uno."),
        ("a", "user", "2026-03-02T18:40:01+00:00", "Dos."),
        ("a", "assistant", "2026-03-02T18:40:02.500000+00:00", "Tres."),
        ("7", "Priya", "2026-03-02T18:40:03+00:00", "Cua\ntro."),
    ]


async def test_a_bad_line_stops_no_other_and_names_its_field(client: httpx.AsyncClient) -> None:
    good = {"text": "Hola.", "ts": 0}
    bad: list[tuple[Any, str | None]] = [
        (b"{", "line"), (b"[]", "line"), (b'{"text":"a","text":"b"}', "line"), ({"text": "a"}, "timestamp"),
        ({"ts": 0}, "text"), ({"text": "a", "ts": "ayer"}, "ts"), ({"text": 5, "ts": 0}, "text"),
        ({"text": " ", "ts": 0}, "text"), ({"text": "a", "ts": 0, "role": []}, "role"),
        ({"text": "a", "ts": 0, "entities": "x"}, "entities"), ({"text": "a", "ts": 0, "metadata": 1}, "metadata"),
        ({"text": "a", "ts": 0, "sensitivity": "top"}, "sensitivity"),
        ({"text": "a", "ts": 0, "visibility_scope": "all"}, "visibility_scope"),
        ({"text": "a", "ts": 0, "external_id": "\u0000"}, "external_id"),
        ({"text": "a", "ts": 0, "session": "s" * 500}, "session"), ({"text": "x" * 30_000, "ts": 0}, "text"),
    ]  # fmt: skip
    rows = await bulk(client, "history", *(row for pair in bad for row in (pair[0], good)))
    assert rows[-1]["summary"]["failed"] == len(bad)
    for number, (_, field) in enumerate(bad):
        (row,) = [row for row in rows[:-1] if row["line"] == 2 * number + 1]
        assert row["error"]["errors"][0]["field"] == field, row


async def test_the_same_export_again_changes_nothing(client: httpx.AsyncClient, world: World) -> None:
    export = [
        {"session": "a", "role": "user", "ts": 1, "text": "sí"},
        {"session": "a", "role": "user", "ts": 1, "text": "sí"},
        {"session": "b", "role": "user", "ts": 1, "text": "sí"},
    ]
    first = await bulk(client, "history", *export)
    again = await bulk(client, "history", *export, {"session": "a", "role": "user", "ts": 2, "text": "más"})
    assert first[-1]["summary"]["created"] == len(await world.turns()) - 1 == 3
    assert again[-1]["summary"] == {"created": 1, "updated": 0, "unchanged": 3, "failed": 0}
    assert [row["external_id"] for row in again[:3]] == [row["external_id"] for row in first[:3]]


async def test_other_collections_take_their_own_bodies(client: httpx.AsyncClient) -> None:
    lines: list[dict[str, Any]] = [
        {"text": "uno", "kind": "place"},
        {"text": "dos", "ts": 0},
        {"text": "uno", "kind": "place"},
        {"text": "tres", "external_id": "m"},
        {"text": "cuatro", "external_id": "m"},
    ]
    rows = {row.get("line"): row for row in await bulk(client, "memory", *lines)}
    assert [rows[line].get("status") for line in range(1, 6)] == ["created", None, "unchanged", "created", "updated"]
    assert rows[2]["error"]["errors"][0]["message"] == "Unknown field."
    documents = await bulk(client, "artifacts", {"external_id": "a.md", "text": "Hola."})
    assert documents[0] == {"line": 1, "external_id": "a.md", "status": "created", "unread": []}


@pytest.mark.parametrize("between", [0, 1, 498, 499, 500, 600])
async def test_what_a_line_does_depends_on_no_batch(client: httpx.AsyncClient, world: World, between: int) -> None:
    def twice(text: str) -> list[dict[str, Any]]:
        others = [{"external_id": f"{text}{number}", "text": "x", "ts": number} for number in range(between)]
        return [{"external_id": "m", "text": "uno", "ts": 0}, *others, {"external_id": "m", "text": text, "ts": 0}]

    for text, statuses in (("dos", ("created", "updated")), ("dos", ("updated", "updated"))):
        rows = await bulk(client, "history", *twice(text), {"external_id": "m", "text": text, "ts": 0})
        assert rows[-1]["summary"]["failed"] == 0
        by_line = {row["line"]: row["status"] for row in rows[:-1]}
        assert (by_line[1], by_line[between + 2], by_line[between + 3]) == (*statuses, "unchanged")
    assert (await client.get("/collections/history/items/m")).json()["text"] == "dos"


@pytest.mark.parametrize("collection", ["memory", "history", "artifacts"])
async def test_a_byte_order_mark_is_no_part_of_the_first_line(client: httpx.AsyncClient, collection: str) -> None:
    timed = {"ts": 0} if collection == "history" else {}
    first = {"external_id": "a.md", "text": "Hola.", **timed}
    rows = await bulk(client, collection, b"\xef\xbb\xbf" + json.dumps(first).encode())
    assert (rows[0]["line"], rows[0]["external_id"], rows[0]["status"]) == (1, "a.md", "created")
    # it marks a file, not a line
    rows = await bulk(client, collection, first, b"\xef\xbb\xbf" + json.dumps(first).encode())
    assert rows[-1]["summary"] == {"created": 0, "updated": 0, "unchanged": 1, "failed": 1}


async def test_an_outage_fails_the_batch(client: httpx.AsyncClient, world: World) -> None:
    world.history.fault.error = StorageUnavailableError("The database is out.", reason="unreachable")
    rows = await bulk(client, "history", *({"text": str(number), "ts": number} for number in range(501)))
    assert rows[-1]["summary"]["failed"] == 501
    assert {row["error"]["code"] for row in rows[:-1]} == {"storage_unavailable"}
    assert world.woken == 0


@pytest.mark.parametrize(("collection", "good"), [("memory", MEMORY), ("history", TURN)])
async def test_no_error_repeats_a_value(client: httpx.AsyncClient, collection: str, good: dict[str, Any]) -> None:
    refused = 0
    unnamed = {name: value for name, value in good.items() if name != "external_id"}
    path = f"/collections/{collection}/items"
    for body in bad_bodies(good):
        answer = await client.post(path, json=body)
        check(answer)
        refused += answer.status_code == 422
    for body in bad_bodies(unnamed):
        for method in ("PUT", "PATCH"):
            check(await client.request(method, f"{path}/a", json=body))
    assert refused > 100
    rows = [json.dumps(body).encode() for body in bad_bodies(good)]
    for row in await bulk(client, collection, *rows, CANARY.encode()):
        assert CANARY not in json.dumps(row.get("error", "")), row


async def test_no_error_of_parameters_repeats_a_value(client: httpx.AsyncClient) -> None:
    for path in (
        f"/collections/{CANARY}/items",
        f"/collections/memory/items/{CANARY}",
        f"/collections/memory/{CANARY}",
    ):
        for method in ("GET", "DELETE"):
            check(await client.request(method, path))
    for name in ("prefix", "filters", "limit", "cursor", CANARY):
        check(await client.get("/collections/memory/items", params={name: CANARY + "\u0000"}))
    check(await client.get("/collections/facets", params={"filters": f'{{"{CANARY}":{{"{CANARY}":1}}}}'}))
    for body in bad_bodies({"external_id": "a.md", "text": "x", "after": 1}):
        check(await client.post("/collections/artifact_chunks/items", json=body))
    for body in bad_bodies({"title": "T", "text": "x", "metadata": {"a": 1}, "path": "p", "occurred_at": "2026-01-01"}):
        check(await client.patch("/collections/artifacts/items/a.md", json=body))
