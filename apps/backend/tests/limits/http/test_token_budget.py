"""The tokens that a key may use a day, with a model on a socket and a real database."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from ragcorp.application.keys.create import CreateKey, KeyRequest
from ragcorp.domain.keys import EVERY_SCOPE
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.container import Container
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.fixtures.http import Serve
from support.http.callers import bearer
from support.http.waiting import until, until_true
from support.models.openai_server import FakeOpenAI, openai_server

pytestmark = pytest.mark.anyio

ASK = {"query": "¿Cuál es el plazo de pago?"}
USED = b"SELECT key_id, tokens FROM token_usage"


@pytest.fixture
async def model() -> AsyncIterator[FakeOpenAI]:
    async with openai_server() as model:
        yield model


async def make_key(container: Container) -> tuple[str, dict[str, str]]:
    store = PostgresKeyStore(database=container.database)
    create = CreateKey(store=store, digests=make_digests(container.settings, store), random=os.urandom, now=utc_now)
    made = await create.create(KeyRequest(scopes=EVERY_SCOPE, workspace="default"))
    return made.key.id, bearer(made.credential)


async def used(container: Container) -> dict[str, int]:
    async with container.database.autocommit(EVERY_WORKSPACE) as connection:
        return dict(await (await connection.execute(USED)).fetchall())


async def test_a_key_above_its_budget_asks_no_model(
    make_container: Callable[..., Any], model: FakeOpenAI, serve: Serve
) -> None:
    container = await make_container(
        answer_provider="openai", openai_base_url=model.base_url, openai_api_key="k", daily_token_budget=300
    )
    key_id, key = await make_key(container)
    other_id, other = await make_key(container)
    async with (
        run_service(container) as app,
        serve(app) as url,
        httpx.AsyncClient(base_url=url, timeout=30, headers=key) as client,
    ):
        await client.put("/documents/a", json={"text": "El plazo de pago es de 30 días."})
        for _ in range(3):  # the model says 107 tokens of each
            assert (await client.post("/ask", json=ASK)).status_code == 200
        answer = await client.post("/ask", json=ASK)
        assert answer.status_code == 429
        assert answer.json()["errors"][0]["limit"] == "300 tokens a day (UTC)"
        assert answer.json()["reason"] == "tokens"
        assert 1 <= int(answer.headers["retry-after"]) <= 86_400
        streamed = await client.post("/ask", json={**ASK, "stream": True})
        assert streamed.status_code == 429
        assert (await client.post("/graph/extract", json={})).status_code == 429
        assert (await client.post("/search", json=ASK)).status_code == 200  # a search uses no model
        assert (await client.post("/ask", json=ASK, headers=other)).status_code == 200
        assert len(model.seen) == 4

        async def written() -> bool:
            return await used(container) == {key_id: 321, other_id: 107}

        await until_true(written)


async def test_a_stream_that_its_client_leaves_is_counted(
    make_container: Callable[..., Any], model: FakeOpenAI, serve: Serve
) -> None:
    model.pieces = ["El plazo es de 30 días [1]. "] * 200
    model.piece_delay = 0.05
    container = await make_container(answer_provider="openai", openai_base_url=model.base_url, openai_api_key="k")
    key_id, key = await make_key(container)
    async with (
        run_service(container) as app,
        serve(app) as url,
        httpx.AsyncClient(base_url=url, timeout=30, headers=key) as client,
    ):
        await client.put("/documents/a", json={"text": "El plazo de pago es de 30 días."})
        async with client.stream("POST", "/ask", json={**ASK, "stream": True}) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("event: message"):
                    break
        await until(model.closed.is_set)

        async def counted() -> bool:
            return (await used(container)).get(key_id, 0) > 0

        await until_true(counted)


async def test_an_answer_without_a_model_costs_nothing(make_container: Callable[..., Any], serve: Serve) -> None:
    container = await make_container(daily_token_budget=1)
    _, key = await make_key(container)
    async with (
        run_service(container) as app,
        serve(app) as url,
        httpx.AsyncClient(base_url=url, timeout=30, headers=key) as client,
    ):
        await client.put("/documents/a", json={"text": "El plazo de pago es de 30 días."})
        for _ in range(3):
            assert (await client.post("/ask", json=ASK)).status_code == 200
    assert await used(container) == {}
