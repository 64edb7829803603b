"""The service as a process of its own over the test's database, and clients that read its streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from support.processes.command_line import Done, Running


@dataclass(slots=True, kw_only=True)
class Served:
    """A running `ragcorp serve`."""

    running: Running
    url: str

    def client(self, **options: Any) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=30, **options)

    async def ended(self, *, seconds: float = 60) -> Done:
        """Wait for the end of the process."""
        process = self.running.process
        code = await asyncio.to_thread(process.wait, seconds)
        await asyncio.sleep(0.1)  # the thread that reads stderr comes to its end
        assert process.stdout is not None
        return Done(code=code, raw=process.stdout.read().encode(), err="".join(self.running.lines))


@asynccontextmanager
async def served(dsn: str, **env: str) -> AsyncIterator[Served]:
    """Serve ``dsn`` on a free port; the process does not outlive the block."""
    running = Running.start("serve", "--port", "0", env={"DATABASE_URL": dsn, **env})
    try:
        results = await asyncio.to_thread(running.wait_for, r"Listening on (\S+)")
        yield Served(running=running, url=results[1])
    finally:
        if running.process.poll() is None:
            running.process.kill()
        await asyncio.to_thread(running.process.wait)


@dataclass(slots=True, kw_only=True)
class Stream:
    """What came of a stream of events so far; ``error`` is how the connection ended, if not in order."""

    events: list[tuple[str, Any]] = field(default_factory=list)
    status: int = 0
    error: str | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)


async def read_stream(client: httpx.AsyncClient, stream: Stream, path: str, body: Mapping[str, Any]) -> None:
    """Read events until the end; ``began`` is set with the first ``message``."""
    name = ""
    try:
        async with client.stream("POST", path, json=dict(body)) as response:
            stream.status = response.status_code
            async for line in response.aiter_lines():
                if line.startswith("event:"):
                    name = line.removeprefix("event:").strip()
                elif line.startswith("data:"):
                    stream.events.append((name, json.loads(line.removeprefix("data:"))))
                    if name == "message":
                        stream.began.set()
    except httpx.HTTPError as error:
        stream.error = type(error).__name__
