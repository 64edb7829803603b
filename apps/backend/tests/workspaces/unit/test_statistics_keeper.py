"""The keeper looks at a touched workspace once a run of writes, at the end once more, and survives a failure."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper

pytestmark = pytest.mark.anyio

FOR_EVER = 3600.0


class Looks:
    """Counts the looks at each workspace. While ``held`` is set, a look waits for ``released``."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.held = False
        self.entered, self.released = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None
        self.done = asyncio.Event()

    async def look(self, workspace: str) -> None:
        self.seen.append(workspace)
        self.entered.set()
        if self.held:
            await self.released.wait()
        self.done.set()
        if self.error is not None:
            raise self.error


async def test_a_run_of_writes_is_one_look_a_workspace() -> None:
    looks = Looks()
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=FOR_EVER)
    for _ in range(50):
        keeper.touch("one")
        keeper.touch("two")
        await asyncio.sleep(0)
    assert looks.seen == []
    await keeper.aclose()
    assert sorted(looks.seen) == ["one", "two"]


async def test_a_look_comes_by_itself_after_the_settling_time() -> None:
    looks = Looks()
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=0.0)
    keeper.touch("one")
    await asyncio.wait_for(looks.done.wait(), 10)
    assert looks.seen == ["one"]
    await keeper.aclose()
    assert looks.seen == ["one"]


async def test_what_is_touched_during_a_look_is_looked_at_again() -> None:
    looks = Looks()
    looks.held = True
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=0.0)
    keeper.touch("one")
    await looks.entered.wait()
    keeper.touch("one")
    keeper.touch("one")
    looks.held = False
    looks.released.set()
    await keeper.aclose()
    assert looks.seen == ["one", "one"]


async def test_a_touch_after_a_look_starts_anew() -> None:
    looks = Looks()
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=0.0)
    for number in range(1, 4):
        looks.done.clear()
        keeper.touch("one")
        await asyncio.wait_for(looks.done.wait(), 10)
        await asyncio.sleep(0)
        assert len(looks.seen) == number
    await keeper.aclose()


async def test_closing_looks_once_more_without_waiting_for_the_settling_time() -> None:
    looks = Looks()
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=FOR_EVER)
    await keeper.aclose()
    assert looks.seen == []
    looks = Looks()
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=FOR_EVER)
    keeper.touch("one")
    await keeper.aclose()
    assert looks.seen == ["one"]


async def test_a_closing_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcorp.infrastructure.postgres.workspaces.statistics_keeper.CLOSING_SECONDS", 0.01)
    looks = Looks()
    looks.held = True
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=FOR_EVER)
    keeper.touch("one")
    await asyncio.wait_for(keeper.aclose(), 10)
    assert looks.seen == ["one"]
    assert not looks.done.is_set()


async def test_an_error_of_the_storage_is_logged_and_survived(caplog: pytest.LogCaptureFixture) -> None:
    looks = Looks()
    looks.error = StorageUnavailableError("out", reason="timeout")
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=0.0)
    with caplog.at_level(logging.WARNING, logger="ragcorp"):
        keeper.touch("one")
        await asyncio.wait_for(looks.done.wait(), 10)
        await asyncio.sleep(0)
    assert "were not refreshed" in caplog.text
    looks.error = None
    keeper.touch("one")
    await keeper.aclose()
    assert looks.seen == ["one", "one"]
