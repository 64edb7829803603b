"""A process that is told to end while its server starts leaves none behind, however far the start has come."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ragcorp.infrastructure.embedded_postgres import launcher, status
from ragcorp.main.opening import storage
from ragcorp.main.settings.schema import load_settings
from support.storage.embedded_server import Place

pytestmark = pytest.mark.anyio


class SlowBegin:
    """Holds the thread of a start before it has done anything."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._find = launcher.find_installation
        self.begun = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._go_on = threading.Event()
        monkeypatch.setattr(launcher, "find_installation", self)

    def __call__(self) -> Any:
        self._loop.call_soon_threadsafe(self.begun.set)
        assert self._go_on.wait(timeout=20)
        return self._find()

    def go_on(self) -> None:
        self._go_on.set()


async def hold_open(place: Place, opened: asyncio.Event) -> None:
    async with storage.open_storage(load_settings({"ragcorp_data_dir": place.data})):
        opened.set()
        await asyncio.Event().wait()


async def cancelled_twice(task: asyncio.Task[None], held: SlowBegin) -> None:
    """Cancel, as two signals do, before the thread goes on."""
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.2)
    held.go_on()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_start_that_had_hardly_begun(ready: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    held = SlowBegin(monkeypatch)
    task = asyncio.create_task(hold_open(ready, asyncio.Event()))
    await asyncio.wait_for(held.begun.wait(), 20)
    await cancelled_twice(task, held)
    monkeypatch.undo()
    await no_server(ready)


async def test_a_watch_that_is_about_to_start_it_anew(ready: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "WATCH_SECONDS", 0.01)
    opened = asyncio.Event()
    task = asyncio.create_task(hold_open(ready, opened))
    await asyncio.wait_for(opened.wait(), 20)
    held = SlowBegin(monkeypatch)
    await asyncio.wait_for(held.begun.wait(), 20)
    await cancelled_twice(task, held)
    monkeypatch.undo()
    await no_server(ready)


async def no_server(place: Place) -> None:
    """A start that was left to its thread would be seen within a second."""
    await asyncio.sleep(1.5)
    assert not status(place.data).running
