"""The server's protocol without a socket: what comes in comes in exactly the pieces that are fed to it."""

from __future__ import annotations

import asyncio

import uvicorn
from uvicorn.server import ServerState

from ragcorp.main.service.http_protocol import ProblemProtocol


class Unanswered(ProblemProtocol):
    def _start_asgi_task(self, *_: object) -> None:
        """Nobody works on what came."""


class Connection(asyncio.Transport):
    """The server's end of a connection. What is fed to ``protocol`` is parsed; no application is started."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_closed = False
        config = uvicorn.Config(never_asked, lifespan="off")
        loop = asyncio.new_event_loop()
        self.protocol = Unanswered(config, ServerState(), {}, loop)
        self.protocol.connection_made(self)
        self.end = loop.close

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


async def never_asked(_scope: object, _receive: object, _send: object) -> None:
    raise AssertionError
