"""What pages of other origins may do while there is no key, over a socket: nothing, unless they are named."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from support.fixtures.http import Serve
from support.http.callers import KnownCallers, bearer
from support.http.fakes import World

pytestmark = pytest.mark.anyio

EVIL = "http://evil.example"
APP = "https://app.example.com"


@pytest.fixture
async def client(world: World, serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(world.services(authenticator=KnownCallers()), HttpLimits(cors_origins=(APP,)))
    async with serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def test_a_strangers_page_restores_nothing(client: httpx.AsyncClient) -> None:
    await client.put("/documents/d.md", json={"text": "El plazo es de 30 días."})
    await client.delete("/documents/d.md")
    refused = await client.post("/documents/d.md/restore", headers={"Origin": EVIL, "Content-Type": "text/plain"})
    assert refused.status_code == 403
    assert refused.json()["code"] == "foreign_origin"
    (error,) = refused.json()["errors"]
    assert error["field"] == "Origin"
    assert "CORS_ORIGINS" in error["remedy"]
    assert "evil" not in refused.text
    assert (await client.get("/documents/d.md")).status_code == 404
    assert 'reason="foreign_origin"} 1.0' in (await client.get("/metrics")).text
    assert (await client.post("/documents/d.md/restore", headers={"Origin": APP})).status_code == 200


async def test_every_operation_is_closed_to_strangers(world: World, serve: Serve) -> None:
    app: FastAPI = create_app(world.services(), HttpLimits(cors_origins=("*",)))
    async with serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        description = (await client.get("/openapi.json")).json()
        operations = [(path, method) for path, methods in description["paths"].items() for method in methods]
        assert len(operations) > 20
        for path, method in operations:
            for headers in ({"Origin": EVIL}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}):
                answer = await client.request(method, path.replace("{", "").replace("}", ""), headers=headers)
                if path in ("/healthz", "/readyz"):
                    assert answer.status_code in (200, 503), path
                else:
                    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin"), (path, method)


@pytest.mark.parametrize(
    "origin", ["null", f"{APP}.evil.example", "http://localhost", "ftp://127.0.0.1", "", f"{APP}:1"]
)
async def test_origins_of_others(client: httpx.AsyncClient, origin: str) -> None:
    assert (await client.get("/documents", headers={"Origin": origin})).status_code == 403


async def test_who_may(client: httpx.AsyncClient) -> None:
    own = str(client.base_url).rstrip("/")
    cross = {"Sec-Fetch-Site": "cross-site"}
    for headers in (
        {},
        {"Origin": own},
        {"Origin": own.replace("http", "https")},
        {"Origin": APP.upper(), **cross},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": EVIL, **cross, **bearer("one.secret")},
    ):
        assert (await client.get("/documents", headers=headers)).status_code == 200, headers
    twice = [("Origin", own), ("Origin", EVIL)]
    assert (await client.get("/documents", headers=twice)).status_code == 403
    assert (await client.get("/docs", headers={**cross, "Sec-Fetch-Mode": "navigate"})).status_code == 200
    assert (await client.get("/docs", headers={**cross, "Sec-Fetch-Mode": "no-cors"})).status_code == 403
    assert (await client.get("/documents", headers={**cross, "Sec-Fetch-Mode": "navigate"})).status_code == 403
