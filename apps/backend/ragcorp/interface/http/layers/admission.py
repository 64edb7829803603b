"""Limits how many requests work at once. A request takes a slot when its body is complete: slow senders use none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragcorp.application.limits.key_meter import KeyCounts, KeyMeter
from ragcorp.application.limits.slot_limiter import Key, SlotLimiter, Slots
from ragcorp.interface.http.layers.access import is_of_page
from ragcorp.interface.http.protocol.disconnect import unless_disconnected
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.request_scope import caller_of

SLOT_KEY = "ragcorp.slot"
ALWAYS_ADMITTED = frozenset({"/healthz", "/readyz", "/metrics", "/status"})
MCP_PATH = "/mcp"

WAITING_PER_SLOT = 25
"""Requests that wait for each slot at most; more are refused at once."""

SLOTS_PER_PART = 4
"""A quarter of the slots is for parts of requests (``RequestSlot.part``), which no client waits for one by one."""

SLOTS_PER_UPLOAD = 2
"""Half of the slots is for uploads that are slow to read: the rest goes on answering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limiters:
    """The slots of ``requests`` and ``streams``, of ``parts`` and ``uploads`` (each uses a request's slot too).

    ``keys`` meters the requests of each key.
    """

    requests: Slots
    parts: Slots
    uploads: Slots
    streams: Slots
    keys: KeyMeter

    @classmethod
    def of(cls, limits: HttpLimits, *, on_busy: Callable[[], None] = lambda: None) -> Limiters:
        """Return limiters that count by themselves; ``on_busy`` runs for each refusal of a slot."""

        def queued(slots: int) -> SlotLimiter:
            return SlotLimiter(
                slots=slots,
                wait_seconds=limits.admission_wait_seconds,
                max_waiting=slots * WAITING_PER_SLOT,
                on_busy=on_busy,
            )

        slots = limits.max_concurrent_requests
        return cls(
            requests=queued(slots),
            parts=queued(max(1, slots // SLOTS_PER_PART)),
            uploads=queued(max(1, slots // SLOTS_PER_UPLOAD)),
            streams=SlotLimiter(slots=limits.max_streams, on_busy=on_busy),
            keys=KeyCounts(
                per_minute=limits.rate_limit_per_minute,
                burst=limits.rate_limit_burst,
                concurrency=limits.key_concurrency,
            ),
        )


class RequestSlot:
    """The slots that one request uses; ``close`` returns all of them."""

    def __init__(self, limiters: Limiters, *, key: Key) -> None:
        self._limiters = limiters
        self._key = key
        self._decided = self._working = self._streaming = False

    async def take(self, request: Request) -> None:
        """Take a slot, once. Raises BusyError, and ClientDisconnect where the client leaves the queue."""
        if self._decided:
            return
        self._decided = True
        if not await self._limiters.requests.try_acquire(self._key):
            await unless_disconnected(request, self._limiters.requests.acquire(self._key))
        self._working = True

    def release(self) -> None:
        """Return the slot of the requests: from now on this request only waits for a model."""
        if self._working:
            self._working = False
            self._limiters.requests.release(self._key)

    async def open_stream(self) -> None:
        """Count the response among the streams, once. Raises BusyError."""
        if not self._streaming:
            await self._limiters.streams.acquire(self._key)
            self._streaming = True

    def work_in_parts(self) -> None:
        """Take no slot for the request as a whole, but one for each ``part``."""
        self._decided = True

    def part(self, *, wait_seconds: float) -> AbstractAsyncContextManager[None]:
        """Use a slot of the parts, and one of the requests, inside the block. Raises BusyError."""
        return self._held(self._limiters.parts, self._limiters.requests, wait_seconds=wait_seconds)

    def upload(self, *, slow: bool, wait_seconds: float) -> AbstractAsyncContextManager[None]:
        """Use a slot of the requests inside the block, and one of the uploads for a slow one. Raises BusyError."""
        limiters = (self._limiters.uploads, self._limiters.requests) if slow else (self._limiters.requests,)
        return self._held(*limiters, wait_seconds=wait_seconds)

    @asynccontextmanager
    async def _held(self, *limiters: Slots, wait_seconds: float) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_seconds
        async with AsyncExitStack() as slots:
            for limiter in limiters:
                await limiter.acquire(self._key, wait_seconds=max(0.0, deadline - loop.time()))
                slots.callback(limiter.release, self._key)
            yield

    def close(self) -> None:
        self.release()
        if self._streaming:
            self._streaming = False
            self._limiters.streams.release(self._key)


def slot_of(scope: Scope) -> RequestSlot:
    slot: RequestSlot = scope[SLOT_KEY]
    return slot


class AdmissionGate:
    """Creates each request's slot and takes it at the end of the body; without a body, BoundedRoute takes it."""

    def __init__(self, app: ASGIApp, *, limiters: Limiters) -> None:
        self._app = app
        self._limiters = limiters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slot = RequestSlot(self._limiters, key=caller_of(scope).key_id)
        scope[SLOT_KEY] = slot
        path: str = scope["path"]
        if path in ALWAYS_ADMITTED or is_of_page(path) or (path == MCP_PATH and scope["method"] == "GET"):
            slot.work_in_parts()

        async def received() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                await slot.take(Request(scope, receive))
            return message

        try:
            await self._app(scope, received, send)
        except ClientDisconnect:
            return
        finally:
            slot.close()
