"""A handler that is late is answered for in time, also where it takes long to let go of what it waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from support.fixtures.http import MakeApp
from support.http.fakes import World

pytestmark = pytest.mark.anyio


async def test_it_is_not_waited_for(
    world: World, make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = asyncio.Event()

    async def stubborn(*_: object, **__: object) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(1.5)
            ended.set()
            raise

    monkeypatch.setattr(world.repository, "list_page", stubborn)
    async with make_client(make_app(request_timeout_seconds=0.1)) as client:
        started = time.monotonic()
        answer = await client.get("/documents")
        assert answer.status_code == 503
        assert answer.json()["code"] == "request_timeout"
        assert not ended.is_set(), "the response waited for the handler's end"
        assert time.monotonic() - started < 30
        async with asyncio.timeout(10):
            await ended.wait()
