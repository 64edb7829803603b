"""GET /introspect/hydration/{episode_id}."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.principal import Principal
from ragcorp.interface.shapes.hydration import HydrationTurnBody
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio

GUIDE = """# Guía

## Alta de usuarios

El alta la firma RRHH en 5 días hábiles.

## Baja de usuarios

La baja es inmediata.
"""


async def filled(client: httpx.AsyncClient) -> None:
    stored = await client.put(
        "/documents/guia.md", json={"text": GUIDE, "metadata": {"path": "manual/guia.md"}, "language": "es"}
    )
    assert stored.status_code == 201


async def test_a_turn_is_told_with_its_reasons(database_client: httpx.AsyncClient) -> None:
    await filled(database_client)
    asked = await database_client.post("/search", json={"query": "¿Qué dice guia.md?", "episode_id": "e/1 ñ"})
    assert asked.status_code == 200
    hydration = asked.json()["hydration"]
    assert (hydration["episode_id"], hydration["turn"]) == ("e/1 ñ", 1)
    for path in ("/introspect/hydration/e%2F1%20%C3%B1", "/v1/introspect/hydration/e/1%20%C3%B1?turn=1"):
        answer = await database_client.get(path)
        assert answer.status_code == 200
        body = answer.json()
        TypeAdapter(HydrationTurnBody).validate_python(body)
        assert set(body) == set(HydrationTurnBody.__annotations__)
        assert (body["turn"], body["turns"], body["query"], body["withheld"]) == (1, 1, "¿Qué dice guia.md?", 0)
        assert [entity["entity_key"] for entity in body["entities"]] == [
            "manual/guia.md#Guía",
            "manual/guia.md#Alta de usuarios",
            "manual/guia.md#Baja de usuarios",
        ]
        assert {entity["reason"] for entity in body["entities"]} == {"anchor:explicit_file_mention"}
        assert [entity["included_at"] for entity in body["entities"]] == [1, 2, 3]
        assert body["entities"][1]["content"].startswith("## Alta de usuarios")
        assert body["budget"] == hydration["budget"]


async def test_what_the_first_turn_showed_is_an_anchor_in_the_second(database_client: httpx.AsyncClient) -> None:
    await filled(database_client)
    for query in ("guia.md", "¿y quién firma?"):
        assert (await database_client.post("/search", json={"query": query, "episode_id": "e"})).status_code == 200
    body = (await database_client.get("/introspect/hydration/e")).json()
    assert (body["turn"], body["turns"]) == (2, 2)
    assert [(entity["reason"], entity["priority"]) for entity in body["entities"]] == [
        ("anchor:hydrated_previous_turn", 80)
    ] * 3


async def test_an_answer_carries_its_hydration_too(database_client: httpx.AsyncClient) -> None:
    await filled(database_client)
    answer = await database_client.post(
        "/ask", json={"query": "¿En cuántos días se firma el alta según guia.md?", "episode_id": "e"}
    )
    assert answer.status_code == 200
    body = answer.json()
    assert [entity["path"] for entity in body["hydration"]["entities"]] == ["manual/guia.md"] * 3
    assert [citation["path"] for citation in body["citations"]] == ["manual/guia.md"]
    assert "5 días hábiles" in body["answer"]


async def test_an_unknown_episode_is_a_404(database_client: httpx.AsyncClient) -> None:
    answer = await database_client.get("/introspect/hydration/no-such")
    assert answer.status_code == 404
    assert answer.json()["errors"][0]["field"] == "episode_id"
    assert "no-such" not in answer.text


@pytest.mark.parametrize("turn", ["0", "-1", "x", "2147483648", "1.5"])
async def test_a_turn_that_is_no_number_is_refused(database_client: httpx.AsyncClient, turn: str) -> None:
    answer = await database_client.get("/introspect/hydration/e", params={"turn": turn})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["field"] == "turn"
    assert error["remedy"]


async def test_names_out_of_their_limits_are_refused(database_client: httpx.AsyncClient) -> None:
    too_long = await database_client.get(f"/introspect/hydration/{'e' * 201}")
    assert too_long.status_code == 422
    assert too_long.json()["errors"][0]["field"] == "episode_id"
    no_text = await database_client.get("/introspect/hydration/%FF")
    assert no_text.status_code == 422
    assert no_text.json()["errors"][0]["field"] == "episode_id"
    unknown = await database_client.get("/introspect/hydration/e?turns=1")
    assert unknown.status_code == 422
    for body in ({"query": "a", "episode_id": ""}, {"query": "a", "episode_id": "e" * 201}):
        answer = await database_client.post("/search", json=body)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "episode_id"
    paged = await database_client.post("/search", json={"query": "a", "episode_id": "e", "cursor": "abc"})
    assert paged.status_code == 422
    assert paged.json()["errors"][0]["field"] == "cursor"


async def test_another_callers_episode_is_a_404(
    make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    container = await make_container(parts=Parts(embedder=HashingEmbedder()))
    async with run_service(container) as app, make_client(app) as client:
        await filled(client)
        await client.post("/search", json={"query": "guia.md", "episode_id": "mine"})
        with pytest.raises(NotFoundError, match="no such episode"):
            await container.use_cases.introspect.introspect("mine", principal=Principal(subject="beto"))
        assert (await client.get("/introspect/hydration/mine")).status_code == 200


async def test_a_stream_carries_the_hydration_with_its_results(database_client: httpx.AsyncClient) -> None:
    await filled(database_client)
    body = {"query": "guia.md", "episode_id": "e", "stream": True}
    async with database_client.stream("POST", "/search", json=body) as answer:
        text = (await answer.aread()).decode()
    assert "explicit_file_mention" in text
    assert (await database_client.get("/introspect/hydration/e")).json()["turn"] == 1
