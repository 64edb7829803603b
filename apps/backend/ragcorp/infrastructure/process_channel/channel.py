"""One end of a channel: calls with an answer, and notices without one, as JSON behind its length."""

import asyncio
import itertools
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import orjson

LENGTH = struct.Struct("!I")

Handler = Callable[..., Awaitable[Any]]
"""Answers a call with a value that JSON can carry."""
Listener = Callable[..., object]
"""Takes a notice."""


class ChannelClosedError(ConnectionError):
    """The process at the other end has ended."""


class Channel(asyncio.Protocol):
    """``handlers`` answer the other end's calls by name, ``listeners`` take its notices.

    Messages arrive in the order in which they were sent; calls are answered in any order. A handler that raises is a
    bug: the channel closes. The other end closes with its process, however that ends.
    """

    def __init__(self, *, handlers: Mapping[str, Handler], listeners: Mapping[str, Listener]) -> None:
        self._handlers = handlers
        self._listeners = listeners
        self._numbers = itertools.count(1)
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._on_close: Callable[[], None] = lambda: None
        self.closed = asyncio.Event()

    @classmethod
    async def over(
        cls,
        connected: socket.socket,
        *,
        handlers: Mapping[str, Handler] | None = None,
        listeners: Mapping[str, Listener] | None = None,
    ) -> "Channel":
        channel = cls(handlers=handlers or {}, listeners=listeners or {})
        connected.setblocking(False)
        await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=connected)
        return channel

    async def call(self, name: str, *arguments: object) -> Any:
        """Return the other end's answer. Raises ChannelClosedError."""
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        try:
            self._send("call", number, name, *arguments)
            return await answer
        finally:
            self._calls.pop(number, None)

    def tell(self, name: str, *arguments: object) -> None:
        """Send a notice, to a closed channel in vain."""
        if not self.closed.is_set():
            self._send("tell", 0, name, *arguments)

    def on_close(self, action: Callable[[], None]) -> None:
        """Run ``action`` when the other end has closed, at once if it has."""
        self._on_close = action
        if self.closed.is_set():
            action()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's name
        self.closed.set()
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(ChannelClosedError())
        for task in self._answering:
            task.cancel()
        self._on_close()

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        begin = 0
        while len(received) - begin >= LENGTH.size:
            (length,) = LENGTH.unpack_from(received, begin)
            end = begin + LENGTH.size + length
            if len(received) < end:
                break
            self._take(*orjson.loads(received[begin + LENGTH.size : end]))
            begin = end
        del received[:begin]

    def _take(self, kind: str, number: int, *content: Any) -> None:
        if kind == "tell":
            name, *arguments = content
            # not at once: the calls before it have not begun
            asyncio.get_running_loop().call_soon(self._listeners[name], *arguments)
        elif kind == "call":
            name, *arguments = content
            task = asyncio.create_task(self._answer(number, self._handlers[name](*arguments)))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif (answer := self._calls.get(number)) is not None and not answer.done():
            answer.set_result(content[0])

    async def _answer(self, number: int, answer: Awaitable[Any]) -> None:
        try:
            value = await answer
        except Exception:
            self.close()
            raise
        with suppress(ChannelClosedError):
            self._send("answer", number, value)

    def _send(self, kind: str, number: int, *content: object) -> None:
        if self._transport is None or self.closed.is_set():
            raise ChannelClosedError
        message = orjson.dumps([kind, number, *content])
        self._transport.write(LENGTH.pack(len(message)) + message)
