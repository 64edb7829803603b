"""Lets a bounded number of requests work at once. Pure ASGI.

A request takes its place when its body is in, so that whoever sends slowly holds none, and gives it back with the end
of its response, or before, once it needs no database any more.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragcorp.application.limits.admission import Admission, Key, share_of
from ragcorp.domain.exceptions import BusyError
from ragcorp.interface.http.layers.access import is_of_page
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.principal import caller_of
from ragcorp.interface.http.protocol.problems import problem_of

PLACE_KEY = "ragcorp.place"
ALWAYS_ADMITTED = frozenset({"/healthz", "/readyz", "/metrics", "/status"})
MCP_PATH = "/mcp"
DISCONNECT: Message = {"type": "http.disconnect"}

PLACES_PER_PART = 4
"""Of so many places one may be held by a part of a request (``Place.part``): nobody waits for a part's answer."""


class Streams:
    """How many streams are open, and how many may be: in all, and of one key its share, as with places."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._open: Counter[Key] = Counter()

    def enter(self, key: Key) -> None:
        """Raises BusyError."""
        if self._open.total() >= self._most or (key is not None and self._open[key] >= share_of(self._most)):
            raise BusyError
        self._open[key] += 1

    def leave(self, key: Key) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]


class Place:
    """What a request of ``key`` holds: a place among those that work, one among the streams; ``close`` frees both."""

    def __init__(
        self, admission: Admission, parts: Admission, streams: Streams, *, key: Key, on_refusal: Callable[[], None]
    ) -> None:
        self._admission = admission
        self._parts = parts
        self._streams = streams
        self._key = key
        self._on_refusal = on_refusal
        self._asked = self._held = self._streams_held = False

    async def take(self, receive: Receive) -> bool:
        """Take a place, once; return False where the client left meanwhile. The body must be in. Raises BusyError."""
        if self._asked:
            return True
        self._asked = True
        if self._admission.enter_at_once(self._key):
            self._held = True
            return True
        entering = asyncio.ensure_future(self._enter())
        leaving = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({entering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            entering.cancel()
            leaving.cancel()
        await asyncio.gather(entering, leaving, return_exceptions=True)
        if entering.cancelled():
            return False
        entering.result()
        return True

    async def _enter(self) -> None:
        with self._refusal_counted():
            await self._admission.enter(self._key)
        self._held = True

    def give_back(self) -> None:
        """Let another request work: this one only waits for a model from now on."""
        self._asked = True
        if self._held:
            self._held = False
            self._admission.leave(self._key)

    def open_stream(self) -> None:
        """Count the response among the streams. Raises BusyError where there are enough."""
        if not self._streams_held:
            with self._refusal_counted():
                self._streams.enter(self._key)
            self._streams_held = True

    def work_in_parts(self) -> None:
        """Take no place for the request as a whole: it takes one for each of its parts (``part``)."""
        self._asked = True

    @asynccontextmanager
    async def part(self, *, wait_seconds: float) -> AsyncIterator[None]:
        """Hold a place inside the block, one of the few that are there for parts. Raises BusyError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_seconds
        async with AsyncExitStack() as held:
            for admission in (self._parts, self._admission):
                with self._refusal_counted():
                    await admission.enter(self._key, wait_seconds=max(0.0, deadline - loop.time()))
                held.callback(admission.leave, self._key)
            yield

    def close(self) -> None:
        self.give_back()
        if self._streams_held:
            self._streams_held = False
            self._streams.leave(self._key)

    def _refusal_counted(self) -> _Counted:
        return _Counted(self._on_refusal)


class _Counted:
    def __init__(self, on_refusal: Callable[[], None]) -> None:
        self._on_refusal = on_refusal

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is BusyError:
            self._on_refusal()


def place_of(scope: Scope) -> Place:
    place: Place = scope[PLACE_KEY]
    return place


class AdmissionGate:
    """Answers 503 where no place becomes free in time; health, readiness, metrics and the web page are
    answered always.

    ``parts`` are the places that parts of requests may hold, besides one of ``admission``.
    """

    def __init__(
        self, app: ASGIApp, *, admission: Admission, parts: Admission, max_streams: int, metrics: HttpMetrics
    ) -> None:
        self._app = app
        self._admission = admission
        self._parts = parts
        self._streams = Streams(most=max_streams)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        place = Place(
            self._admission,
            self._parts,
            self._streams,
            key=caller_of(scope).key_id,
            on_refusal=lambda: self._metrics.count_refusal(BusyError.code),
        )
        scope[PLACE_KEY] = place
        path: str = scope["path"]
        holds_none = path in ALWAYS_ADMITTED or is_of_page(path) or (path == MCP_PATH and scope["method"] == "GET")
        if holds_none:  # the last is a stream that lasts as long as its session
            place.work_in_parts()
        try:
            if not holds_none and not _may_have_body(scope) and not await place.take(receive):
                return
            await self._app(scope, _admitting(place, receive), send)
        except BusyError as error:
            await problem_of(error).response(scope)(scope, receive, send)
        finally:
            place.close()


def _admitting(place: Place, receive: Receive) -> Receive:
    """Return a receive that takes the place before it hands over the end of the body. It may raise BusyError."""

    async def received() -> Message:
        message = await receive()
        is_last = message["type"] == "http.request" and not message.get("more_body", False)
        if is_last and not await place.take(receive):
            return DISCONNECT
        return message

    return received


def _may_have_body(scope: Scope) -> bool:
    """Say whether a route waits for a body. On a GET or DELETE none does: their work must not escape the gate so."""
    return scope["method"] in ("POST", "PUT", "PATCH") and any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
        for name, value in scope["headers"]
    )


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
