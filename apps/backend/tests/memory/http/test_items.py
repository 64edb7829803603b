"""/collections/{collection}/items: memory and history."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from ragcorp.domain.exceptions import StorageUnavailableError
from support.http.fakes import World

pytestmark = pytest.mark.anyio

MEMORY = "/collections/memory/items"
HISTORY = "/collections/history/items"
TURN = {"session": "goa", "speaker": "Rajesh", "timestamp": "2026-03-02T18:40:00Z", "text": "Let us fly on the 14th."}


async def names(client: httpx.AsyncClient, path: str, **parameters: Any) -> list[str]:
    answer = await client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return [item["external_id"] for item in answer.json()["items"]]


async def test_created_unchanged_updated(client: httpx.AsyncClient, world: World) -> None:
    body = {"text": "Priya prefers the window seat.", "kind": "preference", "entities": ["Priya", "Priya"]}
    path = f"/v1{MEMORY}/priya/seat"
    first = await client.put(path, json=body)
    assert (first.status_code, first.json()) == (
        201,
        {"collection": "memory", "external_id": "priya/seat", "status": "created"},
    )
    assert world.woken == 1
    again = await client.put(path, json=body)
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")
    assert world.woken == 1
    changed = await client.put(path, json=body | {"text": "Priya prefers the aisle."})
    assert (changed.status_code, changed.json()["status"]) == (200, "updated")
    assert world.woken == 2
    item = (await client.get(path)).json()
    assert (item["text"], item["artifact_type"], item["entities"]) == (
        "Priya prefers the aisle.",
        "preference",
        ["Priya"],
    )
    assert (item["language"], item["sensitivity"], item["visibility_scope"]) == ("es", "normal", "workspace")
    assert item["pending"] is True
    assert (await client.delete(path)).status_code == 204
    assert (await client.get(path)).status_code == 404
    assert (await client.delete(path)).status_code == 404


async def test_a_name_is_made_of_the_content(client: httpx.AsyncClient) -> None:
    first = await client.post(MEMORY, json={"text": "Goa está en la India."})
    again = await client.post(MEMORY, json={"text": "Goa está en la India."})
    other = await client.post(MEMORY, json={"text": "Goa está en la India.", "sensitivity": "public"})
    assert [answer.status_code for answer in (first, again, other)] == [201, 200, 201]
    assert first.json()["external_id"] == again.json()["external_id"] != other.json()["external_id"]
    assert len(first.json()["external_id"]) == 32


async def test_a_turn_has_its_time_under_either_name_and_as_an_epoch(client: httpx.AsyncClient) -> None:
    times = [
        {"timestamp": "2026-03-02T19:40:00+01:00"},
        {"occurred_at": "2026-03-02T18:40:00"},
        {"timestamp": 1772476800},
        {"timestamp": 1772476800000, "occurred_at": "2026-03-02T18:40:00Z"},
    ]
    for number, time in enumerate(times):
        answer = await client.put(f"{HISTORY}/{number}", json={"text": "Hola.", **time})
        assert answer.status_code == 201, answer.text
        item = (await client.get(f"{HISTORY}/{number}")).json()
        assert (item["occurred_at"], item["artifact_type"]) == ("2026-03-02T18:40:00+00:00", "turn")
    two = {"text": "Hola.", "timestamp": "2026-03-02T18:40:00Z", "occurred_at": "2026-03-02T18:40:01Z"}
    assert (await client.post(HISTORY, json=two)).json()["errors"][0]["field"] == "timestamp"
    for time in ("ayer", "", True, 1e300, -1e300, [1], "99999-01-01", "2026-13-01"):
        answer = await client.post(HISTORY, json={"text": "Hola.", "timestamp": time})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "timestamp"), time


async def test_the_same_words_at_another_time_are_another_turn(client: httpx.AsyncClient) -> None:
    answers = [await client.post(HISTORY, json={"text": "Sí.", "speaker": "Priya"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    at = [await client.post(HISTORY, json=TURN) for _ in range(2)]
    assert [answer.status_code for answer in at] == [201, 200]
    assert len(await names(client, HISTORY)) == 3


async def test_a_patch_changes_what_it_names(client: httpx.AsyncClient) -> None:
    path = f"{HISTORY}/t1"
    await client.put(path, json=TURN | {"metadata": {"a": 1}, "entities": ["Goa"]})
    assert (await client.patch(path, json={"speaker": "Priya", "metadata": {"b": 2}})).json()["status"] == "updated"
    item = (await client.get(path)).json()
    assert (item["speaker"], item["metadata"], item["text"], item["session"], item["entities"]) == (
        "Priya", {"b": 2}, TURN["text"], "goa", ["Goa"],
    )  # fmt: skip
    assert item["occurred_at"] == "2026-03-02T18:40:00+00:00"
    await client.patch(path, json={"session": None, "timestamp": 0})
    item = (await client.get(path)).json()
    assert (item["session"], item["occurred_at"]) == (None, "1970-01-01T00:00:00+00:00")
    assert (await client.patch(path, json={"speaker": None})).json()["status"] == "updated"
    assert (await client.patch(path, json={"speaker": None})).json()["status"] == "unchanged"
    for bad, field in (
        ({}, "body"),
        ({"text": None}, "text"),
        ({"text": " \u200b"}, "text"),
        ({"occurred_at": None}, "occurred_at"),
        ({"external_id": "x"}, "body"),
        ({"language": "español"}, "language"),
        ({"visibility_scope": "group", "owner": "otros"}, "owner"),
    ):
        answer = await client.patch(path, json=bad)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field), bad
    assert (await client.patch(f"{HISTORY}/none", json={"text": "x"})).status_code == 404


@pytest.mark.parametrize(
    "name", ["a/b/c.md", "a%2Fb", "bulk", "content", "ñandú y más", "%", "a?b", "..", "🙂", "x" * 400]
)
async def test_any_name(client: httpx.AsyncClient, name: str) -> None:
    quoted = httpx.QueryParams({"n": name})["n"]
    path = f"{MEMORY}/" + "".join(f"%{byte:02X}" for byte in quoted.encode())
    assert (await client.put(path, json={"text": "Hola."})).json()["external_id"] == name
    assert await names(client, MEMORY) == [name]
    assert (await client.get(path)).json()["external_id"] == name
    assert (await client.delete(path)).status_code == 204


@pytest.mark.parametrize("path", ["%00", "%FF", "%20", "%0A", "x" * 401, "x" * 501])
async def test_what_can_be_no_name(client: httpx.AsyncClient, path: str) -> None:
    for method, body in (("PUT", {"text": "Hola."}), ("GET", None), ("PATCH", {"text": "Hola."}), ("DELETE", None)):
        answer = await client.request(method, f"{MEMORY}/{path}", json=body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "external_id")


async def test_the_longest_names_are_those_of_the_description(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    schemas = described["components"]["schemas"]
    for collection, model in (("memory", "MemoryItem"), ("history", "HistoryTurn"), ("artifacts", "ArtifactItem")):
        limit = schemas[model]["properties"]["external_id"]["maxLength"]
        path = f"/collections/{collection}/items"
        for length, status in ((limit, 201), (limit + 1, 422)):
            answer = await client.post(path, json={"external_id": "x" * length, "text": "Hola."})
            assert answer.status_code == status, (collection, length)
            result = await client.get(f"{path}/{'x' * length}")
            assert result.status_code == (200 if status == 201 else 422), (collection, length)
    parameters = described["paths"]["/collections/{collection}/items/{external_id}"]["get"]["parameters"]
    (name,) = [parameter for parameter in parameters if parameter["name"] == "external_id"]
    assert name["schema"]["maxLength"] == 500
    assert "of memory and history 400" in name["description"]


async def test_texts_are_cleaned(client: httpx.AsyncClient) -> None:
    text = "uno\u0000dos \u202etres\u202c cafe\u0301 🙂\r\nfin\u0007"
    await client.put(f"{MEMORY}/t", json={"text": text, "speaker": " Ra\njesh\u0000K ", "entities": ["Go\u0000a"]})
    item = (await client.get(f"{MEMORY}/t")).json()
    assert item["text"] == "uno dos \u202etres\u202c caf\u00e9 🙂\nfin"
    assert (item["speaker"], item["entities"]) == ("Ra jesh K", ["Go a"])
    for bad in ("", "  ", "\u200b\u202e", "x" * 20_001):
        answer = await client.post(MEMORY, json={"text": bad})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "text")
    answer = await client.post(MEMORY, content=b'{"text":"\\ud800"}', headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


async def test_lists_page_and_filter(client: httpx.AsyncClient) -> None:
    for number in range(5):
        body = TURN | {"session": f"s{number % 2}", "metadata": {"n": number}}
        await client.put(f"{HISTORY}/chat/{number}", json=body)
    await client.put(f"{HISTORY}/other", json=TURN)
    assert await names(client, HISTORY, prefix="chat/", filters='{"session":"s1"}') == ["chat/1", "chat/3"]
    assert await names(client, HISTORY, filters='{"n":{"$gte":3}}') == ["chat/3", "chat/4"]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        answer = (await client.get(HISTORY, params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
        seen += [item["external_id"] for item in answer["items"]]
        if (cursor := answer["next_cursor"]) is None:
            break
    assert seen == [*(f"chat/{number}" for number in range(5)), "other"]
    for parameters, field in (
        ({"limit": 0}, "limit"), ({"limit": 201}, "limit"), ({"cursor": "%%"}, "cursor"), ({"filters": "{"}, "filters"),
        ({"prefix": "\u0000"}, "prefix"), ({"artifact": "a"}, "artifact"), ({"nothing": "1"}, "query"),
    ):  # fmt: skip
        answer = await client.get(HISTORY, params=parameters)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


async def test_a_deletion_needs_a_selection(client: httpx.AsyncClient) -> None:
    for name in ("a/1", "a/2", "b/1"):
        await client.put(f"{MEMORY}/{name}", json={"text": name, "metadata": {"of": name[0]}})
    nothing = [
        "{}",
        '{"collection":"memory"}',
        '{"collection":{"$ne":"history"}}',
        '{"$or":[{"collection":"memory"},{"a":1}]}',
    ]
    for parameters in ({}, {"prefix": ""}, *({"filters": filters} for filters in nothing)):
        answer = await client.delete(MEMORY, params=parameters)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "prefix")
    for parameters in ({"prefix": "a/", "filters": '{"of":"b"}'}, {"filters": '{"collection":"history"}'}):
        assert (await client.delete(MEMORY, params=parameters)).json() == {"deleted": 0}
    answer = await client.delete("/documents", params={"filters": '{"collection":"artifacts"}'})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "prefix")
    assert (await client.delete(MEMORY, params={"prefix": "a/"})).json() == {"deleted": 2}
    assert await names(client, MEMORY) == ["b/1"]


async def test_memory_has_its_kinds(client: httpx.AsyncClient) -> None:
    for kind in ("fact", "preference", "person", "place", "relationship"):
        assert (await client.post(MEMORY, json={"text": kind, "artifact_type": kind})).status_code == 201
    for bad in ({"kind": "contract"}, {"kind": "fact", "artifact_type": "person"}):
        answer = await client.post(MEMORY, json={"text": "x", **bad})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "kind")


async def test_a_collection_that_there_is_not(client: httpx.AsyncClient) -> None:
    for method, path in (("GET", "/collections/secrets/items"), ("GET", "/collections/graph/items/a")):
        answer = await client.request(method, path)
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["field"] == "collection"
        assert "'artifacts', 'artifact_chunks', 'memory' or 'history'" in error["limit"]
        assert "secrets" not in answer.text


async def test_an_outage_is_503(client: httpx.AsyncClient, world: World) -> None:
    world.memory.fault.error = StorageUnavailableError("The database is out.", reason="unreachable")
    for method, path, body in (
        ("POST", MEMORY, {"text": "x"}), ("GET", MEMORY, None), ("GET", f"{MEMORY}/a", None),
        ("PATCH", f"{MEMORY}/a", {"text": "x"}), ("DELETE", f"{MEMORY}/a", None), ("GET", "/collections/facets", None),
    ):  # fmt: skip
        answer = await client.request(method, path, json=body)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2"), (method, path)
    assert world.woken == 0


async def test_the_collections_are_described_and_counted(client: httpx.AsyncClient) -> None:
    described = (await client.get("/collections")).json()["collections"]
    assert [item["collection"] for item in described] == ["artifacts", "artifact_chunks", "memory", "history"]
    fields = {item["collection"]: {field["name"]: field["required"] for field in item["fields"]} for item in described}
    assert fields["memory"]["text"] is True
    assert fields["history"]["timestamp"] is False
    assert "session" in next(item for item in described if item["collection"] == "history")["filters"]
    await client.post(MEMORY, json={"text": "uno"})
    await client.post(MEMORY, json={"text": "dos", "kind": "person"})
    await client.post(HISTORY, json=TURN)
    facets = (await client.get("/collections/facets")).json()["facets"]
    assert list(facets) == ["collection", "artifact_type", "language", "month"]
    assert list(facets["collection"].items()) == [("memory", 2), ("history", 1)]
    filtered = (await client.get("/v1/collections/facets", params={"filters": '{"artifact_type":"person"}'})).json()
    assert filtered["facets"]["collection"] == {"memory": 1}
    assert (await client.get("/collections/facets", params={"filters": '{"n":{"$what":1}}'})).status_code == 422


async def test_bodies_are_strict(client: httpx.AsyncClient) -> None:
    for body in (
        {},
        {"text": 5},
        {"text": "x", "nothing": 1},
        {"text": "x", "metadata": [1]},
        {"text": "x", "entities": "a"},
    ):
        assert (await client.post(MEMORY, json=body)).status_code == 422, body
    assert (await client.post(MEMORY, content=b"text", headers={"Content-Type": "text/plain"})).status_code == 415
    big = json.dumps({"text": "x", "metadata": {"k": "y" * 20_000}})
    answer = await client.post(MEMORY, content=big, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "metadata")
    many = {"text": "x", "entities": [str(number) for number in range(51)]}
    assert (await client.post(MEMORY, json=many)).json()["errors"][0]["field"] == "entities"
