"""Names of repeated requests where they are kept: who holds one, for how long, and what goes when."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragcorp.domain.ports.idempotency import IdempotencyName, KeptResponse, Working
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE
from ragcorp.infrastructure.postgres.keys.idempotency_store import PostgresIdempotencyStore
from ragcorp.interface.http.layers.idempotency import Idempotency
from ragcorp.main.wiring.container import Container
from support.http.waiting import until

pytestmark = pytest.mark.anyio

KEY = {"Idempotency-Key": "c1"}


NAME = IdempotencyName(workspace="default", caller="", key="k")
KEPT = KeptResponse(fingerprint=b"f" * 32, status=201, headers=[("content-type", "application/json")], body=b"{}")


async def test_a_name_whose_holder_died_is_taken_over_and_the_dead_change_nothing(
    idempotency_store: PostgresIdempotencyStore,
) -> None:
    dead, alive = b"d" * 32, b"a" * 32
    assert await idempotency_store.claim(NAME, owner=dead, lease_seconds=30) is None
    assert isinstance(await idempotency_store.claim(NAME, owner=alive, lease_seconds=30), Working)
    assert await idempotency_store.claim(NAME, owner=alive, lease_seconds=0) is None
    await idempotency_store.complete(NAME, KEPT, owner=dead)
    await idempotency_store.release(NAME, owner=dead)
    assert isinstance(await idempotency_store.claim(NAME, owner=b"x" * 32, lease_seconds=30), Working)
    await idempotency_store.complete(NAME, KEPT, owner=alive)
    assert await idempotency_store.claim(NAME, owner=b"x" * 32, lease_seconds=0) == KEPT
    await idempotency_store.release(NAME, owner=alive)
    assert await idempotency_store.claim(NAME, owner=b"x" * 32, lease_seconds=0) == KEPT


@pytest.mark.parametrize("other", [{"caller": "one"}, {"workspace": "ventas"}, {"key": "k2"}])
async def test_what_becomes_of_one_name_touches_no_other(
    idempotency_store: PostgresIdempotencyStore, other: dict[str, str]
) -> None:
    """Not even under one owner's value, which is drawn for each request."""
    owner, late = b"a" * 32, b"x" * 32
    beside = replace(NAME, **other)
    assert await idempotency_store.claim(NAME, owner=owner, lease_seconds=30) is None
    assert await idempotency_store.claim(beside, owner=owner, lease_seconds=30) is None
    await idempotency_store.complete(NAME, KEPT, owner=owner)
    assert isinstance(await idempotency_store.claim(beside, owner=late, lease_seconds=30), Working)
    assert await idempotency_store.claim(NAME, owner=late, lease_seconds=30) == KEPT
    await idempotency_store.release(beside, owner=owner)
    assert await idempotency_store.claim(NAME, owner=late, lease_seconds=30) == KEPT
    assert await idempotency_store.claim(beside, owner=late, lease_seconds=30) is None


async def test_a_lease_that_is_renewed_is_not_over(
    idempotency_store: PostgresIdempotencyStore, container: Container
) -> None:
    age = b"UPDATE idempotent_requests SET created_at = now() - interval '1 hour'"
    await idempotency_store.claim(NAME, owner=b"a" * 32, lease_seconds=30)
    async with container.database.autocommit(EVERY_WORKSPACE) as connection:
        await connection.execute(age)
    await idempotency_store.renew(NAME, owner=b"a" * 32)
    assert isinstance(await idempotency_store.claim(NAME, owner=b"b" * 32, lease_seconds=30), Working)


async def write(
    idempotency_store: PostgresIdempotencyStore, work: Callable[[], Awaitable[None]], *, lease_seconds: float = 30.0
) -> int:
    """Return the status of a write that does ``work``."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await work()
        await Response(status_code=204)(scope, receive, send)

    guarded = Idempotency(
        app, store=idempotency_store, reads=frozenset(), upload_seconds=5, lease_seconds=lease_seconds
    )
    transport = httpx.ASGITransport(guarded)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return (await client.delete("/documents/a", headers=KEY)).status_code


async def test_a_long_write_keeps_its_lease(container: Container) -> None:
    renewed = 0

    class Counting(PostgresIdempotencyStore):
        async def renew(self, name: IdempotencyName, *, owner: bytes) -> None:
            nonlocal renewed
            await super().renew(name, owner=owner)
            renewed += 1

    async def age() -> Any:
        async with container.database.autocommit(EVERY_WORKSPACE) as connection:
            return (await (await connection.execute(b"SELECT created_at FROM idempotent_requests")).fetchall())[0]

    async def work() -> None:
        began = await age()
        await until(lambda: renewed >= 2)
        assert await age() > began

    idempotency_store = Counting(database=container.database)
    assert await write(idempotency_store, work, lease_seconds=0.3) == 204
    assert await write(idempotency_store, work) == 204  # answered again


async def test_a_database_that_does_not_let_go_is_not_waited_for(
    idempotency_store: PostgresIdempotencyStore, container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    thawed = asyncio.Event()

    async def hang(*_: object, **__: object) -> None:
        while not thawed.is_set():
            with suppress(asyncio.CancelledError):
                await thawed.wait()

    worked = 0

    async def work() -> None:
        nonlocal worked
        worked += 1

    monkeypatch.setattr("ragcorp.interface.http.layers.idempotency.STORE_SECONDS", 0.05)
    async with asyncio.timeout(30):
        monkeypatch.setattr(idempotency_store, "complete", hang)
        assert await write(idempotency_store, work) == 204
        monkeypatch.setattr(idempotency_store, "claim", hang)
        assert await write(idempotency_store, work) == 503
    assert worked == 1
    thawed.set()


async def test_old_answers_are_forgotten(idempotency_store: PostgresIdempotencyStore, container: Container) -> None:
    for key in ("old", "young"):
        name = IdempotencyName(workspace="default", caller="", key=key)
        await idempotency_store.claim(name, owner=b"a" * 32, lease_seconds=30)
        await idempotency_store.complete(name, KEPT, owner=b"a" * 32)
    old = b"UPDATE idempotent_requests SET created_at = now() - interval '25 hours' WHERE idempotency_key = 'old'"
    async with container.database.autocommit(EVERY_WORKSPACE) as connection:
        await connection.execute(old)
    assert await idempotency_store.purge(older_than_hours=24) == 1
    async with container.database.autocommit(EVERY_WORKSPACE) as connection:
        left = await (await connection.execute(b"SELECT idempotency_key FROM idempotent_requests")).fetchall()
    assert [row[0] for row in left] == ["young"]
    assert "answers to repeated writes" in [worker.what for worker in container.purge_workers]
