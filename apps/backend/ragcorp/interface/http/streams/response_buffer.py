"""Lines of an answer that their caller has not lines yet: a bounded number of bytes of them."""

import asyncio
from collections import deque

SENT_AT_ONCE = 65_536


class UnreadError(Exception):
    """The client reads its response too slowly."""


class ResponseBuffer:
    """A queue bounded by bytes: above ``most_bytes``, ``put`` waits until half are taken, ``wait_seconds`` at most."""

    def __init__(self, *, most_bytes: int, wait_seconds: float) -> None:
        self._most_bytes = most_bytes
        self._wait_seconds = wait_seconds
        self._lines: deque[bytes] = deque()
        self.size = 0
        self._ended = False
        self._filled = asyncio.Event()
        self._room = asyncio.Event()

    async def put(self, line: bytes) -> None:
        self._lines.append(line)
        self.size += len(line)
        self._filled.set()
        if self.size <= self._most_bytes:
            return
        self._room.clear()
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._room.wait()
        except TimeoutError:
            self._lines.clear()
            self.size = 0
            raise UnreadError from None

    def end(self) -> None:
        """Let ``take`` return None after the last line."""
        self._ended = True
        self._filled.set()

    async def take(self) -> bytes | None:
        """Return some lines, None after the last."""
        await self._filled.wait()
        lines: list[bytes] = []
        size = 0
        while self._lines and size < SENT_AT_ONCE:
            lines.append(self._lines.popleft())
            size += len(lines[-1])
        self.size -= size
        if self.size <= self._most_bytes // 2:
            self._room.set()
        if not self._lines and not self._ended:
            self._filled.clear()
        return b"".join(lines) if lines else None
