"""What one key may do: its rate, and how many of its requests are open at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from support.fixtures.http import Serve
from support.http.callers import KnownCallers, bearer
from support.http.fakes import World
from support.http.waiting import until_true

pytestmark = pytest.mark.anyio

ONE, TWO = bearer("one.secret"), bearer("two.secret")


@pytest.fixture
def make_limited(world: World) -> Callable[..., FastAPI]:
    def make(authenticator: KnownCallers | None = None, **limits: Any) -> FastAPI:
        services = world.services(authenticator=authenticator or KnownCallers())
        return create_app(services, HttpLimits(**limits))

    return make


async def test_above_its_rate_a_key_is_refused_and_told_when_to_come_back(
    make_limited: Callable[..., FastAPI], serve: Serve
) -> None:
    app = make_limited(rate_limit_per_minute=2, rate_limit_burst=3)
    async with serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        answers = [await client.get("/documents", headers=ONE) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        refused = answers[-1]
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        problem = refused.json()
        assert refused.headers["content-type"] == "application/problem+json"
        assert problem["code"] == "too_many_requests"
        assert problem["reason"] == "rate"
        assert problem["errors"][0]["limit"] == "2 a minute"
        assert "RATE_LIMIT_PER_MINUTE" in problem["errors"][0]["remedy"]
        assert "secret" not in refused.text
        # another key, the local user and whoever watches are not touched
        assert (await client.get("/documents", headers=TWO)).status_code == 200
        assert (await client.get("/documents")).status_code == 200
        assert (await client.get("/healthz", headers=ONE)).status_code == 200
        exposed = (await client.get("/metrics")).text
        assert 'http_refusals_total{reason="rate"} 1.0' in exposed


async def test_every_path_counts_also_those_that_are_not(make_limited: Callable[..., FastAPI], serve: Serve) -> None:
    app = make_limited(rate_limit_per_minute=1, rate_limit_burst=2)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, headers=ONE) as client:
        statuses = [
            (await client.get("/nowhere")).status_code,
            (await client.post("/mcp", json={})).status_code,
            (await client.get("/documents")).status_code,
        ]
    assert statuses[0] == 404
    assert statuses[2] == 429


async def test_a_rate_of_0_is_none(make_limited: Callable[..., FastAPI], serve: Serve) -> None:
    app = make_limited(rate_limit_per_minute=0, rate_limit_burst=1)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, headers=ONE) as client:
        assert {(await client.get("/documents")).status_code for _ in range(10)} == {200}


async def test_a_key_has_so_many_requests_open_and_no_more(
    world: World, make_limited: Callable[..., FastAPI], serve: Serve
) -> None:
    world.answerer.script = ["El plazo es", 30.0, "de 30 días [1]."]
    app = make_limited(key_concurrency=2)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=20) as client:
        await client.put("/documents/a", json={"text": "El plazo de pago es de 30 días."})
        ask = {"query": "plazo de pago", "stream": True}
        async with (
            client.stream("POST", "/ask", json=ask, headers=ONE) as first,
            client.stream("POST", "/ask", json=ask, headers=ONE) as second,
        ):
            assert first.status_code == second.status_code == 200
            refused = await client.get("/documents", headers=ONE)
            assert refused.status_code == 429
            assert refused.json()["errors"][0]["limit"] == "2 at once"
            assert refused.json()["reason"] == "concurrency"
            assert int(refused.headers["retry-after"]) >= 1
            assert (await client.get("/documents", headers=TWO)).status_code == 200
        # what ended counts no more, also where the client left

        async def free() -> bool:
            return (await client.get("/documents", headers=ONE)).status_code == 200

        await until_true(free)


async def test_who_has_no_key_is_refused_before_a_body_is_read(
    make_limited: Callable[..., FastAPI], serve: Serve
) -> None:
    callers = KnownCallers(local=False)
    async with serve(make_limited(callers)) as url, httpx.AsyncClient(base_url=url, timeout=20) as client:
        read = 0

        async def endless() -> Any:
            nonlocal read
            while True:
                read += 65_536
                yield b"x" * 65_536

        try:
            answer = await client.put("/documents/a", content=endless(), headers={"Content-Type": "text/plain"})
            assert answer.status_code == 401
        except httpx.TransportError:  # it went on sending when the connection had closed
            pass
        assert read < 200 * 1024 * 1024
    assert callers.asked == [None]
