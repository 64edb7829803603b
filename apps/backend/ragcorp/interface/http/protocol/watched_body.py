"""Reads a request's body ahead by one piece, which shows when its sender leaves."""

import asyncio

from starlette.requests import ClientDisconnect
from starlette.types import Receive


class WatchedBody:
    """Reads a body independently of its consumer; ``left`` is set once the sender is gone.

    After the end of the body a departure shows at once, before it when the current piece is consumed.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=1)
        self.left = asyncio.Event()
        self._watching = asyncio.create_task(self._watch())

    async def piece(self, *, seconds: float) -> bytes | None:
        """Return the next piece, None after the last. Raises TimeoutError and ClientDisconnect."""
        async with asyncio.timeout(seconds):
            piece = await self._pieces.get()
        if self.left.is_set():
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
            self.left.set()
            if self._pieces.empty():
                self._pieces.put_nowait(None)  # wakes a waiting ``piece``
