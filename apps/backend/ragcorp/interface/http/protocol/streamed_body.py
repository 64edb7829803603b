"""Reads a body while its response streams: ahead by one piece, which shows when the sender leaves, and line by line."""

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect
from starlette.types import Receive


class WatchedBody:
    """Reads a body independently of its consumer; ``disconnected`` is set once the sender is gone.

    After the end of the body a departure shows at once, before it when the current piece is consumed.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=1)
        self.disconnected = asyncio.Event()
        self._watching = asyncio.create_task(self._watch())

    async def piece(self, *, seconds: float) -> bytes | None:
        """Return the next piece, None after the last. Raises TimeoutError and ClientDisconnect."""
        async with asyncio.timeout(seconds):
            piece = await self._pieces.get()
        if self.disconnected.is_set():
            raise ClientDisconnect
        return piece

    async def aclose(self) -> None:
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        more = True
        try:
            while (message := await self._receive())["type"] != "http.disconnect":
                if more and (piece := message.get("body", b"")):
                    await self._pieces.put(piece)
                if more and not message.get("more_body", False):
                    more = False
                    await self._pieces.put(None)
        finally:
            self.disconnected.set()
            if self._pieces.empty():
                self._pieces.put_nowait(None)  # wakes a waiting ``piece``


async def lines(chunks: AsyncIterator[bytes], *, limit: int) -> AsyncIterator[bytes | None]:
    """Yield each line without its end, None for one above ``limit`` bytes, and no byte order mark."""
    first = True
    async for line in _lines(chunks, limit=limit):
        yield line.removeprefix(BOM_UTF8) if first and line is not None else line
        first = False


async def _lines(chunks: AsyncIterator[bytes], *, limit: int) -> AsyncIterator[bytes | None]:
    buffer = bytearray()
    overlong = False
    async for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            buffer += chunk[start:end]
            yield None if overlong or len(buffer) > limit else bytes(buffer)
            buffer.clear()
            overlong = False
            start = end + 1
        buffer += chunk[start:]
        if len(buffer) > limit:
            buffer.clear()
            overlong = True
    if buffer or overlong:
        yield None if overlong else bytes(buffer)
