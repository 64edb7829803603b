"""The keeper refreshes after a run of writes, at the end once more, and for searches; it survives a failure."""

from __future__ import annotations

import asyncio
import itertools
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
        self.is_settled = True

    async def look(self, workspace: str) -> bool:
        self.seen.append(workspace)
        self.entered.set()
        if self.held:
            await self.released.wait()
        self.done.set()
        if self.error is not None:
            raise self.error
        return self.is_settled


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


# for searches


async def test_a_search_starts_one_refresh_at_once() -> None:
    looks = Looks()
    looks.held = True
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=FOR_EVER)
    for _ in range(20):
        keeper.found_stale("one")
        await asyncio.sleep(0)
    assert looks.seen == ["one"]
    keeper.found_stale("two")
    await asyncio.sleep(0)
    assert looks.seen == ["one", "two"]
    await keeper.aclose()


async def test_a_search_leaves_a_refresh_after_writes_alone() -> None:
    looks = Looks()
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, settle_seconds=FOR_EVER)
    keeper.touch("one")
    keeper.found_stale("one")
    await asyncio.sleep(0)
    assert looks.seen == []
    await keeper.aclose()
    assert looks.seen == ["one"]


@pytest.mark.parametrize("outcome", ["refreshed", "still stale", "failed"])
async def test_a_pause_follows_and_doubles_while_nothing_improves(
    monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    now = 1000.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    looks = Looks()
    looks.is_settled = outcome == "refreshed"
    looks.error = StorageUnavailableError("out", reason="timeout") if outcome == "failed" else None
    keeper = StatisticsKeeper(refresh_if_stale=looks.look, first_pause_seconds=10.0)
    times = []
    for _ in range(75):
        before = len(looks.seen)
        keeper.found_stale("one")
        for _ in range(3):
            await asyncio.sleep(0)
        times += [now] * (len(looks.seen) - before)
        now += 1.0
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert pauses == ([10.0] * 7 if outcome == "refreshed" else [10.0, 20.0, 40.0])
    await keeper.aclose()


async def test_closing_cancels_what_only_a_search_wanted() -> None:
    looks = Looks()
    looks.held = True
    keeper = StatisticsKeeper(refresh_if_stale=looks.look)
    keeper.found_stale("one")
    await looks.entered.wait()
    await asyncio.wait_for(keeper.aclose(), 10)
    assert not looks.done.is_set()
    keeper.found_stale("one")
    assert looks.seen == ["one"]
