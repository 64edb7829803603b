"""The graph over HTTP: add, list, get, put, delete, load and extract."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from validation.http.test_no_echo import CANARY, bad_bodies, check

from support.http.fakes import World

pytestmark = pytest.mark.anyio

NDJSON = {"Content-Type": "application/x-ndjson"}


def field_of(response: httpx.Response) -> str:
    assert response.headers["content-type"] == "application/problem+json"
    return str(response.json()["errors"][0]["field"])


async def test_entities_are_added_replaced_listed_and_deleted(client: httpx.AsyncClient, world: World) -> None:
    body = {"name": "María  Pérez", "kind": "person", "aliases": ["Maru"], "metadata": {"area": "compras"}}
    added = await client.post("/graph/entities", json=body)
    name = added.json()["external_id"]
    assert (added.status_code, added.json()) == (201, {"external_id": name, "status": "created"})
    assert re.fullmatch("person:maria perez~[0-9a-f]{16}", name)
    again = await client.post("/v1/graph/entities", json=body)
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")
    assert world.woken == 1
    put = await client.put(f"/graph/entities/{quote(name)}", json={**body, "description": "Compras."})
    assert (put.status_code, put.json()["status"]) == (200, "updated"), put.text
    shown = (await client.get(f"/graph/entities/{quote(name)}")).json()
    assert (shown["name"], shown["kind"], shown["description"]) == ("María Pérez", "person", "Compras.")
    assert (await client.put("/graph/entities/lugar%2Fgoa", json={"name": "Goa", "kind": "place"})).status_code == 201
    first = (await client.get("/graph/entities", params={"limit": 1})).json()
    assert [one["name"] for one in first["entities"]] == ["Goa"]
    rest = (await client.get("/graph/entities", params={"limit": 1, "cursor": first["next_cursor"]})).json()
    assert [one["name"] for one in rest["entities"]] == ["María Pérez"]
    assert rest["next_cursor"] is None
    assert len((await client.get("/graph/entities", params={"prefix": "lugar/"})).json()["entities"]) == 1
    assert (await client.delete("/graph/entities/lugar/goa")).status_code == 204
    assert (await client.delete("/graph/entities/lugar/goa")).status_code == 404


async def test_facts_name_their_entities_by_name_or_external_id(client: httpx.AsyncClient) -> None:
    fact = {
        "subject": "Rajesh",
        "object": {"name": "Priya", "kind": "person"},
        "predicate": "planning vacation to Goa in March",
        "valid_from": "2026-03-01",
        "weight": 0.8,
    }
    added = await client.post("/graph/facts", json=fact)
    assert added.status_code == 201
    shown = (await client.get(f"/graph/facts/{added.json()['external_id']}")).json()
    assert shown["text"] == "Rajesh -> Priya: planning vacation to Goa in March"
    priya = shown["object"]["external_id"]
    assert shown["object"] == {"external_id": priya, "name": "Priya", "kind": "person"}
    assert re.fullmatch("person:priya~[0-9a-f]{16}", priya)
    assert (shown["valid_from"], shown["valid_to"]) == ("2026-03-01T00:00:00+00:00", None)
    by_id = {"subject": {"external_id": priya}, "object": "Anil", "predicate": "sister of"}
    assert (await client.put("/graph/facts/sisters", json=by_id)).status_code == 201
    on_priya = (await client.get("/graph/facts", params={"entity": priya})).json()["facts"]
    assert len(on_priya) == 2
    unknown = await client.post("/graph/facts", json={**by_id, "subject": {"external_id": "person:nobody"}})
    assert (unknown.status_code, field_of(unknown)) == (422, "subject.external_id")
    assert (await client.delete("/graph/facts/sisters")).status_code == 204
    assert (await client.get("/graph/facts/sisters")).status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("entities", {"name": "   "}, "name"),
        ("entities", {"name": "a\u0000b\ud800"}, "body"),
        ("entities", {"name": "x" * 201}, "name"),
        ("entities", {"name": "Ana", "aliases": ["x"] * 51}, "aliases"),
        ("entities", {"name": "Ana", "kinds": "person"}, "body"),
        ("entities", {"name": "Ana", "visibility_scope": "group", "owner": "ventas"}, "owner"),
        ("facts", {"subject": "Ana", "object": "Bea"}, "predicate"),
        ("facts", {"subject": "Ana", "object": "Bea", "predicate": "x", "weight": 1.5}, "weight"),
        ("facts", {"subject": {}, "object": "Bea", "predicate": "x"}, "subject"),
        ("facts", {"subject": {"name": "A", "external_id": "a"}, "object": "Bea", "predicate": "x"}, "subject"),
        ("facts", {"subject": "A", "object": "B", "predicate": "x", "provenance": {"chunk_index": 1}}, "provenance"),
        (
            "facts",
            {"subject": "A", "object": "B", "predicate": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"},
            "valid_to",
        ),
    ],
)
async def test_what_cannot_be_is_refused_with_its_field(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], field: str
) -> None:
    refused = await client.post(
        f"/graph/{path}", content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert refused.status_code == 422
    assert field_of(refused) == field


async def bulk(client: httpx.AsyncClient, lines: Sequence[object]) -> list[dict[str, Any]]:
    content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    answered = await client.post("/graph/bulk", content=content, headers=NDJSON)
    assert answered.status_code == 200
    return [json.loads(line) for line in answered.text.splitlines()]


async def test_a_bulk_load_answers_line_by_line(client: httpx.AsyncClient, world: World) -> None:
    *lines, last = await bulk(
        client,
        [
            {"type": "fact", "subject": {"external_id": "person:ana"}, "object": "Zafiro", "predicate": "trabaja en"},
            {"type": "entity", "external_id": "person:ana", "name": "Ana", "kind": "person"},
            "",
            "no json",
            {"type": "relation", "name": "x"},
            {"type": "fact", "subject": "Ana", "object": 7, "predicate": "x"},
            {"type": "entity", "name": "Ana", "kind": "person", "color": "azul"},
        ],
    )
    # within a batch the entities come first
    assert [line.get("status") for line in lines if "status" in line] == ["created", "created"]
    assert {line["line"]: line["error"]["errors"][0]["field"] for line in lines if "error" in line} == {
        4: "line",
        5: "type",
        6: "object",
        7: "line",
    }
    assert last == {"summary": {"created": 2, "updated": 0, "unchanged": 0, "failed": 4}}
    stored = (await client.get("/graph/entities")).json()["entities"]
    assert {entity["external_id"].partition("~")[0] for entity in stored} == {"person:ana", "entity:zafiro"}


async def test_what_a_line_does_depends_on_no_batch(client: httpx.AsyncClient) -> None:
    ana = {"type": "entity", "name": "Ana", "kind": "person"}
    fact = {"type": "fact", "external_id": "f", "subject": "Ana", "object": "Zafiro", "predicate": "dirige"}
    *lines, last = await bulk(
        client,
        [
            "\ufeff" + json.dumps(ana),
            {**ana, "description": "Dirige."},
            {**ana, "external_id": "x"},
            fact,
            {**ana, "external_id": "x", "aliases": ["Anita"]},
            {**fact, "weight": 0.5},
        ],
    )
    assert [line.get("status") for line in lines] == ["created", "updated", "created", "created", "updated", "updated"]
    assert last["summary"]["failed"] == 0


async def test_without_a_language_model_extraction_says_so(client: httpx.AsyncClient) -> None:
    refused = await client.post("/graph/extract", json={})
    assert refused.status_code == 409
    assert "no language model is configured" in refused.json()["detail"]
    assert "ANSWER_PROVIDER" in refused.json()["detail"]


async def test_the_description_has_the_graph(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    assert {
        "/graph/bulk",
        "/graph/extract",
        "/graph/entities",
        "/graph/entities/{external_id}",
        "/graph/facts",
        "/graph/facts/{external_id}",
    } <= set(described["paths"])
    assert {"NewEntity", "NewFact", "EntityLine", "FactLine", "StoredFact"} <= set(described["components"]["schemas"])


ENTITY: dict[str, Any] = {
    "name": "Ana",
    "kind": "person",
    "aliases": ["Anita"],
    "description": "d",
    "external_id": "e",
    "language": "es",
    "sensitivity": "normal",
    "visibility_scope": "workspace",
    "owner": "o",
    "metadata": {"a": [1]},
}
FACT: dict[str, Any] = {
    "subject": {"name": "Ana", "kind": "person"},
    "object": {"external_id": "e"},
    "predicate": "conoce",
    "weight": 0.5,
    "valid_from": "2025-01-01",
    "valid_to": "2026-01-01",
    "provenance": {"document": "a.md", "chunk_index": 0, "chunk_id": None},
    "quote": "q",
}


@pytest.mark.parametrize(
    ("path", "good"), [("/graph/entities", ENTITY), ("/graph/facts", FACT), ("/graph/extract", {})]
)
async def test_no_error_repeats_what_was_sent(client: httpx.AsyncClient, path: str, good: dict[str, Any]) -> None:
    refused = 0
    for body in bad_bodies(good):
        answer = await client.post(path, json=body)
        if path == "/graph/extract" and answer.status_code == 503:  # a fitting body, and no model
            continue
        check(answer)
        refused += answer.status_code == 422
    assert refused > 5 * len(good)


async def test_no_line_of_a_bulk_answer_repeats_what_was_sent(client: httpx.AsyncClient) -> None:
    lines: list[object] = [CANARY, "{" + CANARY, {"type": CANARY}, {CANARY: CANARY}]
    for kind, good in (("entity", ENTITY), ("fact", FACT)):
        lines += [{**body, "type": kind} for body in bad_bodies(good) if isinstance(body, dict)]
    answered = await client.post("/graph/bulk", content="\n".join(map(_line, lines)), headers=NDJSON)
    refused = [json.loads(line) for line in answered.text.splitlines() if '"error"' in line]
    assert len(refused) > 100
    assert all(CANARY not in json.dumps(one["error"]) for one in refused)


def _line(line: object) -> str:
    return line if isinstance(line, str) else json.dumps(line)
