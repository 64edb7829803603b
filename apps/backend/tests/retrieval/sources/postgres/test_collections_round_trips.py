"""What each look at the collections costs: one round trip, settings included, seen on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID

import pytest

from benchmarks.wire import Trace, traced
from ragcorp.infrastructure.postgres.collections.counts import PostgresFacetCounts
from ragcorp.infrastructure.postgres.connections.database import Database
from support.memory.collections import NOON, WITH_CHANNELS, channels_over, fill, store_over
from support.storage.postgres import open_database
from support.storage.stored import ANYONE, EAST, where

pytestmark = pytest.mark.anyio


@pytest.fixture
async def trace() -> AsyncIterator[Trace]:
    with traced() as trace:
        yield trace


@pytest.fixture
async def database(dsn: str, trace: Trace) -> AsyncIterator[Database]:
    async with open_database(dsn, pool_size=1) as database:
        for collection in WITH_CHANNELS:
            await fill(database, collection, {"default": ["aguja", "aguja fina", "pajar"]})
        yield database


async def counted(trace: Trace, look: Callable[[], Awaitable[object]]) -> tuple[int, int]:
    """Return statements (that of the workspace, settings, the look's own) and round trips, all prepared."""
    for _ in range(3):
        await look()
    trace.take()
    await look()
    seen = trace.take()
    return len(seen.statements), seen.round_trips


async def test_each_channel_is_one_round_trip(database: Database, trace: Trace) -> None:
    for collection in WITH_CHANNELS:
        channels = await channels_over(database, collection)
        for filters in ((), where(language="es")):
            similar = await counted(
                trace, lambda c=channels, f=filters: c.similar(EAST, principal=ANYONE, filters=f, limit=9)
            )
            matching = await counted(
                trace,
                lambda c=channels, f=filters: c.matching("aguja", principal=ANYONE, filters=f, limit=9, since=NOON),
            )
            assert (similar, matching) == ((3, 1), (3, 1))


async def test_each_look_of_the_store_is_one_round_trip(database: Database, trace: Trace) -> None:
    keys = []
    for collection in WITH_CHANNELS:
        ranked, _ = await (await channels_over(database, collection)).matching(
            "aguja", principal=ANYONE, filters=(), limit=9
        )
        keys += [hit.key for hit in ranked]
    assert len(keys) == 6
    store = await store_over(database)
    for look in (store.describe, store.read, store.features):
        assert await counted(trace, lambda look=look: look(keys, principal=ANYONE)) == (3, 1)
    centres = [(UUID(key), 0) for key, collection, _ in keys if collection == "artifacts"]
    assert await counted(trace, lambda: store.neighbours(centres, distance=2, principal=ANYONE)) == (3, 1)
    assert await counted(trace, lambda: store.describe([], principal=ANYONE)) == (0, 0)


async def test_facets_are_one_statement_with_its_workspace_and_timeout(database: Database, trace: Trace) -> None:
    counts = PostgresFacetCounts(database)
    assert await counted(trace, lambda: counts.count(principal=ANYONE)) == (3, 1)
