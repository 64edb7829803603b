"""What removes for good what is old enough, while a service runs."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ragcorp.application.upkeep.purge_worker import PurgeWorker
from ragcorp.domain.exceptions import StorageUnavailableError

pytestmark = pytest.mark.anyio


async def test_it_purges_again_and_again_and_waits_an_outage_out(caplog: pytest.LogCaptureFixture) -> None:
    outcomes: list[int | Exception] = [StorageUnavailableError("out", reason="unreachable"), 0, 3]
    done = asyncio.Event()

    async def purge() -> int:
        if not outcomes:
            done.set()
            return 0
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    with caplog.at_level(logging.INFO):
        task = asyncio.create_task(PurgeWorker(purge=purge, what="old turns", interval_seconds=0).run())
        async with asyncio.timeout(30):
            await done.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [record.getMessage() for record in caplog.records] == [
        "the purge of old turns waits for the database: unreachable",
        "purged 3 old turns",
    ]
