"""Shutdown: refuses new requests and ends open streams with an error."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragcorp.interface.http.protocol.problems import RETRY_AFTER_SECONDS, Problem
from ragcorp.interface.http.protocol.request_scope import request_id_of
from ragcorp.interface.shapes.json_text import dumps

EVENTS, LINES = b"text/event-stream", b"application/x-ndjson"

STILL_ANSWERED = frozenset({"/healthz", "/metrics"})
"""Probes may watch the shutdown."""

OWN_END = frozenset({"/mcp"})
"""MCP ends its streams itself, with its sessions."""

STOPPING = Problem(
    status=503,
    code="stopping",
    detail="The service is stopping. Send the request again: another instance, or this one once it is back, answers.",
    reason="stopping",
    headers={"Retry-After": str(RETRY_AFTER_SECONDS), "Connection": "close"},
)


class Stopping:
    """State of the shutdown: ``begin`` refuses new requests, ``end_streams`` ends open streams."""

    def __init__(self) -> None:
        self.begun = False
        self.streams_end = asyncio.Event()

    def begin(self) -> None:
        self.begun = True

    def end_streams(self) -> None:
        self.begun = True
        self.streams_end.set()


class StoppingGate:
    """Refuses new requests with 503 during shutdown; ends event and line streams with an error event or line.

    A separate task sends that end, between two ASGI messages, and then cancels the work, which may hang.
    """

    def __init__(self, app: ASGIApp, *, stopping: Stopping) -> None:
        self._app = app
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._stopping.begun and scope["path"] not in STILL_ANSWERED:
            await STOPPING(scope, receive, send)
            return
        await _Exchange(scope, send, self._stopping).run(self._app, receive)


class _Exchange:
    def __init__(self, scope: Scope, send: Send, stopping: Stopping) -> None:
        self._scope = scope
        self._send = send
        self._stopping = stopping
        self._work: asyncio.Task[object] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._started = False
        self._complete = False
        self._ended = False
        self._media_type: bytes | None = None

    async def run(self, app: ASGIApp, receive: Receive) -> None:
        self._work = asyncio.current_task()
        try:
            await app(self._scope, receive, self._sent)
        except asyncio.CancelledError:
            cut = not self._started and self._stopping.streams_end.is_set()
            if not (cut or self._ended) or self._work is None or self._work.uncancel() > 0:
                raise
            if cut:
                await STOPPING(self._scope, receive, self._send)
        finally:
            if self._watch is not None:
                self._watch.cancel()

    async def _sent(self, message: Message) -> None:
        if self._ended:
            return
        if message["type"] == "http.response.start":
            self._started = True
            self._media_type = _media_type(message)
            if self._media_type in (EVENTS, LINES) and self._scope["path"] not in OWN_END:
                self._watch = asyncio.create_task(self._end_at_shutdown())
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self._complete = True
        await self._send(message)

    async def _end_at_shutdown(self) -> None:
        await self._stopping.streams_end.wait()
        if self._complete:
            return
        self._ended = True
        try:
            await self._send({"type": "http.response.body", "body": self._last(), "more_body": False})
        finally:
            if self._work is not None:
                self._work.cancel()

    def _last(self) -> bytes:
        if self._media_type == LINES:
            return dumps({"error": STOPPING.as_line()}) + b"\n"
        data = dumps(STOPPING.as_json(request_id_of(self._scope))).decode()
        return f"event: error\r\ndata: {data}\r\nretry: {RETRY_AFTER_SECONDS * 1000}\r\n\r\n".encode()


def _media_type(message: Message) -> bytes | None:
    values = (value for name, value in message.get("headers", ()) if name.lower() == b"content-type")
    return next((value.partition(b";")[0].strip() for value in values), None)
