"""The server's HTTP parser: bounds a request's head, the time of its body and the wait for slow readers."""

import asyncio
import secrets
from collections.abc import Callable
from enum import Enum, auto
from http import HTTPStatus

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ragcorp.interface.http.protocol.problems import MEDIA_TYPE, STALLED, FieldError, Problem

MAX_HEAD_BYTES = 65_536
MAX_HEADERS = 100

MALFORMED = Problem(
    status=400,
    code="malformed_request",
    detail="The request is not valid HTTP, or its URL or headers are too long. Send less in them.",
    errors=(
        FieldError(
            field="request",
            message="The request is not valid HTTP, or its URL or headers are too long.",
            limit=f"{MAX_HEAD_BYTES} bytes of URL and headers, {MAX_HEADERS} headers",
            remedy="Send less in them; long texts belong into a body.",
        ),
    ),
)


BODY_BYTES_A_SECOND = 1024
"""A body at this rate may take as long as its receiver lets it."""


class HeadTooLongError(Exception):
    pass


class _Part(Enum):
    """The part of a request that comes next on a connection."""

    HEAD = auto()
    BODY = auto()
    """Of a chunked body also its last chunk and its trailers."""
    ANOTHER = auto()
    """Another request, of which nothing has come."""


class _Timer:
    """A single-shot timer: ``start`` does nothing while it runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float, callback: Callable[[], object]) -> None:
        if self._handle is None:
            self._handle = self._loop.call_later(seconds, callback)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class ProblemProtocol(HttpToolsProtocol):
    """Bounds what the parser itself takes without a limit, before an application could answer.

    - A head, chunk extensions and trailers included, is limited to MAX_HEAD_BYTES and MAX_HEADERS, and has
      ``head_seconds`` from the connection or its first byte. Trailers are discarded: they must not add headers to a
      request that was checked without them.
    - A body has ``body_seconds`` and one more second per BODY_BYTES_A_SECOND received, at most ``body_seconds`` ahead.
      The clock stops while the service does not read. The application has a stricter clock; this one covers bodies that
      it does not read, or reads line by line. After the response the rest of a body has ``unread_seconds``.
    - A client that does not read a response for ``write_seconds`` is cut; the application sees a disconnect. None sets
      no bound.
    """

    head_seconds = 10.0
    body_seconds = 65.0
    unread_seconds = 2.0
    tick_seconds = 0.5
    write_seconds: float | None = None

    _part = _Part.HEAD
    _progressed = False
    _unfinished_bytes = _head_bytes = 0
    _body_left = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_timer, self._body_timer, self._write_timer = (_Timer(self.loop) for _ in range(3))
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head_timer, self._body_timer, self._write_timer):
            timer.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._progressed = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self._progressed:  # all of it belongs to an unfinished part; of a first piece that is unknown
            self._unfinished_bytes += len(data)
            if self._unfinished_bytes > MAX_HEAD_BYTES:
                self.send_400_response("")
                return
        if self._part is _Part.BODY:
            self._start_body_timer()
        elif self._part is _Part.HEAD or (not self._progressed and self.cycle.response_complete):
            self._start_head_timer()  # blank lines before a request are the beginning of its head

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._part = _Part.HEAD
        self._head_bytes = 0
        self._progress()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        if self._part is _Part.BODY:
            return
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            raise HeadTooLongError

    def on_headers_complete(self) -> None:
        self._part = _Part.BODY
        self._body_left = self.body_seconds
        self._head_timer.stop()
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._progress()

    def on_body(self, body: bytes) -> None:
        self._progress()
        self._body_left = min(self._body_left + len(body) / BODY_BYTES_A_SECOND, self.body_seconds)
        super().on_body(body)

    def on_chunk_complete(self) -> None:
        self._progress()

    def on_message_complete(self) -> None:
        self._part = _Part.ANOTHER
        self._progress()
        self._body_timer.stop()
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self.write_seconds is not None:
            self._write_timer.start(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._write_timer.stop()
        super().resume_writing()

    def _unsupported_upgrade_warning(self) -> None:
        """The parser reads nothing after an upgrade, so the connection ends with the response."""
        self.cycle.keep_alive = False

    def _progress(self) -> None:
        self._progressed = True
        self._unfinished_bytes = 0

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise HeadTooLongError  # the parser wraps it in an error that send_400_response answers

    def _start_head_timer(self) -> None:
        self._head_timer.start(self.head_seconds, self.transport.close)

    def _start_body_timer(self) -> None:
        self._body_timer.start(self.tick_seconds, self._tick)

    def _tick(self) -> None:
        self._body_timer.stop()
        if self.transport.is_closing():
            return
        if not self.flow.read_paused:
            self._body_left -= self.tick_seconds
        if self.cycle.response_complete:
            self._body_left = min(self._body_left, self.unread_seconds)
        if self._body_left > 0:
            self._start_body_timer()
        elif self.cycle.response_complete:
            self.transport.close()
        else:
            self._end_with(STALLED)

    def send_400_response(self, _: str) -> None:
        self._end_with(MALFORMED)

    def _end_with(self, problem: Problem) -> None:
        """Close the connection; send ``problem`` unless another response has begun, or is due before it."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._write(problem)
        elif not cycle.response_started and not self.pipeline:
            self._write(problem)
            cycle.disconnected = True  # a later response of the application would be a second one
            cycle.message_event.set()
        self.transport.close()

    def _write(self, problem: Problem) -> None:
        request_id = secrets.token_hex(16)
        body = orjson.dumps(problem.as_json(request_id))
        head = (
            f"HTTP/1.1 {problem.status:d} {HTTPStatus(problem.status).phrase}\r\n"
            f"content-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\n"
            f"x-request-id: {request_id}\r\n"
            "x-content-type-options: nosniff\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)


def cutting_protocol(seconds: float) -> type[ProblemProtocol]:
    return type("CuttingProtocol", (ProblemProtocol,), {"write_seconds": seconds})
