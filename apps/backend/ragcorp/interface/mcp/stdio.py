"""The process's stdin and stdout as a transport."""

import asyncio
import fcntl
import os
import select
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from ragcorp.interface.mcp.messages import refusals

FIRST_FREE = 3
"""Descriptors below are stdin, stdout and stderr."""

BLOCK = 65_536


@asynccontextmanager
async def stdio_streams() -> AsyncIterator[tuple[Any, Any]]:
    """Yield the streams of the protocol; until the end, stdout is stderr and stdin is empty, also for children."""
    async with _StdinLines() as lines, stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (read, write):
        lines.answer_to = write
        yield read, write


class _StdinLines:
    """Iterates over the messages on stdin; ``answer_to`` receives an error for each invalid line.

    Its thread can be interrupted, unlike the SDK's, which would end only after the client's next line.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._thread: threading.Thread | None = None
        self.answer_to: Any = None

    async def __aenter__(self) -> Self:
        self._input = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        end, self._wake = os.pipe()
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._read, args=(loop, end), name="stdin", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        os.close(self._wake)
        if self._thread is not None:
            self._thread.join()
        os.dup2(self._input, 0)
        os.close(self._input)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            text = line.decode("utf-8", errors="replace")
            errors = refusals(text) if text.strip() else []
            for error in errors:
                await self.answer_to.send(SessionMessage(error))
            if text.strip() and not errors:
                yield text

    def _read(self, loop: asyncio.AbstractEventLoop, end: int) -> None:
        unfinished: list[bytes] = []
        try:
            while True:
                ready, _, _ = select.select([self._input, end], [], [])
                if end in ready:
                    return
                try:
                    block = os.read(self._input, BLOCK)
                except BlockingIOError:  # another process reads it too
                    continue
                if not block:
                    break
                *lines, rest = block.split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(self._lines.put_nowait, b"".join((*unfinished, line)))
                    unfinished.clear()
                unfinished.append(rest)
        except OSError:  # a terminal that went away
            pass
        finally:
            os.close(end)
        if last := b"".join(unfinished):
            loop.call_soon_threadsafe(self._lines.put_nowait, last)
        loop.call_soon_threadsafe(self._lines.put_nowait, None)
