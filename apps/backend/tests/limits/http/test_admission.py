"""How many requests work at once, who waits and how long, and what holds no place."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from ragcorp.application.limits.slot_limiter import share_of
from ragcorp.application.limits.token_budget import ACCOUNT
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.layers.admission import WAITING_PER_SLOT
from ragcorp.interface.http.protocol.limits import HttpLimits
from support.fixtures.http import Serve
from support.http.callers import KnownCallers, bearer
from support.http.fakes import World
from support.http.serving import raw_exchange
from support.http.waiting import until, until_true

pytestmark = pytest.mark.anyio

MakeApp = Callable[..., FastAPI]
SEARCH = {"query": "plazo de pago"}
ASK = {"query": "plazo de pago", "stream": True}
TEXT = {"text": "El plazo de pago es de 30 días."}


class Tap:
    """Lets searches, or those of one key, through only when it is told to."""

    def __init__(self, world: World, *, of_key: str | None = None) -> None:
        self.open = asyncio.Event()
        self.inside = self.most = 0
        real = world.repository.fault.strike

        async def strike() -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            try:
                account = ACCOUNT.get()
                if of_key is None or (account is not None and account.key_id == of_key):
                    await self.open.wait()
                await real()
            finally:
                self.inside -= 1

        world.repository.fault.strike = strike  # type: ignore[method-assign]


async def test_when_all_places_are_taken_the_next_is_told_to_come_back(
    world: World, make_app: MakeApp, serve: Serve
) -> None:
    tap = Tap(world)
    app = make_app(max_concurrent_requests=2, admission_wait_seconds=0.05, request_timeout_seconds=30)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        working = [asyncio.create_task(client.post("/search", json=SEARCH)) for _ in range(2)]
        await until(lambda: app.state.admission.taken == 2)
        refused = await client.post("/search", json=SEARCH)
        assert refused.status_code == 503
        assert refused.json()["code"] == refused.json()["reason"] == "busy"
        assert "MAX_CONCURRENT_REQUESTS" in refused.json()["detail"]
        assert int(refused.headers["retry-after"]) >= 1
        for path in ("/healthz", "/readyz", "/metrics"):  # whoever watches is answered
            assert (await client.get(path)).status_code == 200
        assert 'http_refusals_total{reason="busy"} 1.0' in (await client.get("/metrics")).text
        tap.open.set()
        assert {(await task).status_code for task in working} == {200}
        assert (await client.post("/search", json=SEARCH)).status_code == 200
        assert app.state.admission.taken == 0


async def test_whoever_waits_in_time_is_served_and_no_more_work_than_may(
    world: World, make_app: MakeApp, serve: Serve
) -> None:
    app = make_app(max_concurrent_requests=2, admission_wait_seconds=30)
    tap = Tap(world)
    tap.open.set()
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        answers = await asyncio.gather(*(client.get("/documents/a") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {404}
    assert 1 <= tap.most <= 2


async def test_a_key_that_floods_the_service_keeps_nobody_else_out(world: World, serve: Serve) -> None:
    """It uses the slots and the places of the queue that one key may; all requests of another are answered."""
    tap = Tap(world, of_key="one")
    limits = HttpLimits(
        max_concurrent_requests=2, admission_wait_seconds=30, request_timeout_seconds=30, key_concurrency=100
    )
    app = create_app(world.services(authenticator=KnownCallers()), limits)
    any_number = httpx.Limits(max_connections=None)
    async with (
        serve(app) as url,
        httpx.AsyncClient(base_url=url, timeout=60, limits=any_number, headers=bearer("one.secret")) as flooding,
        httpx.AsyncClient(base_url=url, timeout=60, headers=bearer("two.secret")) as other,
    ):
        flood = [asyncio.create_task(flooding.post("/search", json=SEARCH)) for _ in range(60)]
        await until(lambda: sum(task.done() for task in flood) == 60 - 1 - share_of(2 * WAITING_PER_SLOT))
        for _ in range(3):
            assert (await other.post("/search", json=SEARCH)).status_code == 200
        together = await asyncio.gather(*(other.post("/search", json=SEARCH) for _ in range(6)))
        assert {answer.status_code for answer in together} == {200}
        assert app.state.admission.taken == 1
        tap.open.set()
        statuses = [(await task).status_code for task in flood]
        assert set(statuses) == {200, 503}
        assert app.state.admission.taken == app.state.admission.waiting == 0


async def test_a_key_leaves_streams_for_others(world: World, serve: Serve) -> None:
    world.answerer.script = ["El plazo", 30.0]
    limits = HttpLimits(max_streams=4, ask_timeout_seconds=60)
    app = create_app(world.services(authenticator=KnownCallers()), limits)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        one, two = bearer("one.secret"), bearer("two.secret")
        await client.put("/documents/a", json=TEXT, headers=one)
        async with AsyncExitStack() as streams:
            for _ in range(3):
                opened = await streams.enter_async_context(client.stream("POST", "/ask", json=ASK, headers=one))
                assert opened.status_code == 200
            assert (await client.post("/ask", json=ASK, headers=one)).status_code == 503
            other = await streams.enter_async_context(client.stream("POST", "/ask", json=ASK, headers=two))
            assert other.status_code == 200
            assert (await client.post("/ask", json=ASK, headers=two)).status_code == 503  # there are no more than four


@pytest.mark.parametrize("request_of", ["POST", "GET"])
async def test_a_client_that_leaves_while_it_waits_gives_its_turn_up(
    request_of: str, world: World, make_app: MakeApp, serve: Serve
) -> None:
    tap = Tap(world)
    app = make_app(max_concurrent_requests=1, admission_wait_seconds=30, request_timeout_seconds=30)
    admission = app.state.admission
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        working = asyncio.create_task(client.post("/search", json=SEARCH))
        await until(lambda: admission.taken == 1)
        body = SEARCH if request_of == "POST" else None
        path = "/search" if request_of == "POST" else "/documents/a"
        leaving = asyncio.create_task(client.request(request_of, path, json=body))
        await until(lambda: admission.waiting == 1)
        leaving.cancel()
        await until(lambda: admission.waiting == 0)
        tap.open.set()
        assert (await working).status_code == 200
        await until(lambda: admission.taken == 0)


async def test_an_answer_that_a_model_writes_holds_a_stream_and_no_place(
    world: World, make_app: MakeApp, serve: Serve
) -> None:
    world.answerer.script = ["El plazo", 30.0]
    app = make_app(max_concurrent_requests=1, max_streams=2, ask_timeout_seconds=60)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        await client.put("/documents/a", json=TEXT)
        whole = asyncio.create_task(client.post("/ask", json={**ASK, "stream": False}))
        async with client.stream("POST", "/ask", json=ASK) as stream:
            lines = stream.aiter_lines()  # held: who lets go of it closes the stream
            await anext(lines)
            await until(lambda: len(world.answerer.prompts) == 2)
            await until(lambda: app.state.admission.taken == 0)
            assert (await client.post("/search", json=SEARCH)).status_code == 200
            refused = await client.post("/ask", json=ASK)
            assert refused.status_code == 503
            assert refused.json()["code"] == "busy"
            whole.cancel()

            async def free() -> bool:
                return (await client.post("/search", json={**SEARCH, "stream": True})).status_code == 200

            await until_true(free)  # once the service sees that the other left
    assert app.state.admission.taken == 0


async def test_a_body_that_comes_slowly_holds_no_place(make_app: MakeApp, serve: Serve) -> None:
    app = make_app(max_concurrent_requests=1, admission_wait_seconds=0.05, upload_timeout_seconds=1.0)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        head = (
            b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
        )
        slow = [asyncio.create_task(raw_exchange(url, head + b"{")) for _ in range(5)]
        await asyncio.sleep(0.1)
        assert app.state.admission.taken == 0
        assert (await client.post("/search", json=SEARCH)).status_code == 200
        for answer in await asyncio.gather(*slow):  # and it ends
            assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_body_on_a_request_without_one_does_not_go_round_the_gate(
    world: World, make_app: MakeApp, serve: Serve
) -> None:
    tap = Tap(world)
    app = make_app(max_concurrent_requests=1, admission_wait_seconds=0.05, request_timeout_seconds=30)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        working = asyncio.create_task(client.post("/search", json=SEARCH))
        await until(lambda: app.state.admission.taken == 1)
        for method, path in (("GET", "/documents/a"), ("DELETE", "/documents/a"), ("POST", "/documents/a/restore")):
            answer = await client.request(method, path, content=b"x" * 10)
            assert answer.status_code == 503, (method, path)
        tap.open.set()
        await working


async def test_lines_take_a_place_for_each_batch_and_hold_none_between(make_app: MakeApp, serve: Serve) -> None:
    app = make_app(max_concurrent_requests=1, admission_wait_seconds=0.05)
    first_is_in, go_on = asyncio.Event(), asyncio.Event()

    async def body() -> Any:
        yield b'{"external_id": "a", "text": "uno"}\n'
        first_is_in.set()
        await go_on.wait()
        yield b'{"external_id": "b", "text": "dos"}\n'

    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        bulk = asyncio.create_task(
            client.post("/documents/bulk", content=body(), headers={"Content-Type": "application/x-ndjson"})
        )
        await first_is_in.wait()
        assert (await client.post("/search", json=SEARCH)).status_code == 200
        go_on.set()
        answer = await bulk
        assert answer.status_code == 200
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert [(line["external_id"], line["status"]) for line in lines[:2]] == [("a", "created"), ("b", "created")]
        assert lines[2:] == [{"summary": {"created": 2, "updated": 0, "unchanged": 0, "failed": 0}}]
    assert app.state.admission.taken == 0


async def test_lines_of_all_callers_take_few_of_the_places(world: World, make_app: MakeApp, serve: Serve) -> None:
    tap = Tap(world)
    app = make_app(max_concurrent_requests=8, admission_wait_seconds=0.05, request_timeout_seconds=30)
    headers = {"Content-Type": "application/x-ndjson"}
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        many = [
            asyncio.create_task(
                client.post("/documents/bulk", content=b'{"external_id": "a%d", "text": "uno"}\n' % n, headers=headers)
            )
            for n in range(12)
        ]
        await until(lambda: tap.inside == 2)
        others = [asyncio.create_task(client.post("/search", json=SEARCH)) for _ in range(6)]
        await until(lambda: tap.inside == 8)  # the places are taken a moment before
        assert (app.state.admission.taken, app.state.admission.waiting) == (8, 0)
        tap.open.set()
        assert {(await task).status_code for task in others} == {200}
        for task in many:
            assert '"created":1' in (await task).text
    assert app.state.admission.taken == 0


async def test_no_place_is_lost_when_clients_leave_at_random(world: World, make_app: MakeApp, serve: Serve) -> None:
    chance = random.Random(7)
    app = make_app(
        max_concurrent_requests=2,
        admission_wait_seconds=0.05,
        request_timeout_seconds=60,
        ask_timeout_seconds=60,
        max_streams=3,
    )
    world.answerer.script = ["El plazo", 0.01, "es [1]."]
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        await client.put("/documents/a", json=TEXT)
        world.repository.fault.delay = 0.005

        async def one(turns: int | None) -> int:
            """Leave after so many turns of the event loop, whatever time they take; None stays."""
            path, body = chance.choice([("/search", SEARCH), ("/ask", ASK), ("/ask", {**ASK, "stream": False})])
            asking = asyncio.create_task(client.post(path, json=body))
            if turns is not None:
                for _ in range(turns):
                    await asyncio.sleep(0)
                asking.cancel()
            await asyncio.wait([asking])
            return 0 if asking.cancelled() else asking.result().status_code

        statuses = []
        for _ in range(5):
            first = asyncio.create_task(one(None))
            await until(lambda: app.state.admission.taken > 0)
            others = (one(chance.choice([1, 10, 30, 100, 300, None])) for _ in range(19))
            statuses += [*await asyncio.gather(*others), await first]
        assert set(statuses) <= {0, 200, 503}
        assert {0, 200} <= set(statuses)
        await until(lambda: app.state.admission.taken == app.state.admission.waiting == 0)
        world.repository.fault.delay = 0.0

        async def answered() -> bool:
            return (await client.post("/ask", json=ASK)).status_code == 200

        await until_true(answered)
