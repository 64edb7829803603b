"""The limits that several workers share: slots and open requests, whatever order their messages come in."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from ragcorp.domain.exceptions import BusyError
from ragcorp.domain.keys import TooManyRequestsError
from ragcorp.infrastructure.process_channel.channel import Channel
from ragcorp.interface.http.layers.admission import Limiters
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.workers.leases import LeaseBook, Leases
from support.http.waiting import until

pytestmark = pytest.mark.anyio

Worker = tuple[Channel, Limiters]


@pytest.fixture
def common() -> Limiters:
    """Two slots for requests, one stream, and two open requests or three a minute of one key."""
    return Limiters.of(
        HttpLimits(
            max_concurrent_requests=2,
            admission_wait_seconds=30,
            max_streams=1,
            key_concurrency=2,
            rate_limit_per_minute=1,
            rate_limit_burst=3,
        )
    )


@pytest.fixture
async def workers(common: Limiters) -> AsyncIterator[list[Worker]]:
    """Two workers of one supervisor, all in this process."""
    opened, supervised = [], []
    for _ in range(2):
        ours, theirs = socket.socketpair()
        leases = Leases(common)
        supervisor = await Channel.over(
            ours, handlers={"acquire": leases.acquire, "enter": leases.enter}, listeners={"release": leases.release}
        )
        supervisor.on_close(leases.release_all)
        supervised.append(supervisor)
        worker = await Channel.over(theirs)
        opened.append((worker, LeaseBook(worker).limiters(lambda: None)))
    yield opened
    for channel in (*supervised, *(channel for channel, _ in opened)):
        channel.close()
        await channel.closed.wait()


async def test_the_slots_of_all_workers_are_as_many_as_those_of_one(workers: list[Worker], common: Limiters) -> None:
    (_, one), (_, two) = workers
    assert await one.requests.try_acquire("a")
    assert await two.requests.try_acquire("b")
    assert not await one.requests.try_acquire("c")
    assert (one.requests.taken, two.requests.taken, common.requests.taken) == (1, 1, 2)
    waiting = asyncio.create_task(two.requests.acquire("c"))
    await until(lambda: common.requests.waiting == 1)
    one.requests.release("a")
    await waiting
    assert (one.requests.taken, two.requests.taken, common.requests.taken) == (0, 2, 2)
    await one.streams.acquire("a")
    with pytest.raises(BusyError):
        await two.streams.acquire("b")


async def test_a_request_that_leaves_takes_no_slot_whenever_it_leaves(workers: list[Worker], common: Limiters) -> None:
    (_, one), (_, two) = workers
    await one.requests.acquire("a")
    await one.requests.acquire("b")
    waiting = asyncio.create_task(two.requests.acquire("c"))
    await until(lambda: common.requests.waiting == 1)
    waiting.cancel()
    await until(lambda: common.requests.waiting == 0)
    at_once = asyncio.create_task(two.requests.acquire("c"))
    await asyncio.sleep(0)  # the message is on its way
    one.requests.release("a")
    at_once.cancel()
    await asyncio.gather(waiting, at_once, return_exceptions=True)
    await until(lambda: common.requests.taken == 1)
    assert (two.requests.taken, two.requests.waiting) == (0, 0)


async def test_a_worker_that_dies_returns_all_that_it_had(workers: list[Worker], common: Limiters) -> None:
    (dying, one), (_, two) = workers
    await one.requests.acquire("a")
    await one.requests.acquire("b")
    await one.keys.enter("a")
    queued = asyncio.create_task(one.requests.acquire("c"))
    await until(lambda: common.requests.waiting == 1)
    waiting = asyncio.create_task(two.requests.acquire("d"))
    await until(lambda: common.requests.waiting == 2)
    dying.close()
    await waiting
    with pytest.raises(BusyError):
        await queued
    assert (common.requests.taken, common.requests.waiting) == (1, 0)
    await two.keys.enter("a")
    await two.keys.enter("a")


async def test_rate_and_open_requests_of_a_key_hold_over_all_workers(workers: list[Worker]) -> None:
    (_, one), (_, two) = workers
    await one.keys.enter("a")
    await two.keys.enter("a")
    with pytest.raises(TooManyRequestsError) as refused:
        await one.keys.enter("a")
    assert (refused.value.reason, refused.value.limit) == ("concurrency", "2 at once")
    two.keys.leave("a")
    await one.keys.enter("a")
    one.keys.leave("a")
    with pytest.raises(TooManyRequestsError) as refused:
        await two.keys.enter("a")
    assert refused.value.reason == "rate"
    assert 0 < refused.value.retry_after_seconds <= 60
    assert "RATE_LIMIT_PER_MINUTE" in str(refused.value)
    await two.keys.enter("b")
