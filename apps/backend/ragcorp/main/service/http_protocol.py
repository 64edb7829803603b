"""The server's parser: it bounds the head of a request and the time of its body, and answers what is no HTTP with a
problem as well.
"""

from __future__ import annotations

import asyncio
import secrets
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
"""A body that comes at this rate may take as long as its receiver lets it."""


class HeadTooLongError(Exception):
    """More came than a request may begin with."""


class _Part(Enum):
    """What comes next on a connection."""

    HEAD = auto()
    BODY = auto()
    """Of a chunked body also its last chunk and what trails it."""
    ANOTHER = auto()
    """Another request, of which nothing has come."""


class ProblemProtocol(HttpToolsProtocol):
    """Where the parser gives up there is no request yet, so nothing of the application can answer.

    The parser itself takes a head of any length, for as long as it takes to come, and so it does with what trails the
    last chunk of a body, and with the extensions of a chunk. Here a head has ``head_seconds`` from the connection, or
    its own first byte, to its end; what is longer is refused, and who sends none is hung up on. Trailers count as part
    of the head, and are thrown away: they must not add headers to a request that was checked without them.

    A body has ``body_seconds``, and a second more for each ``BODY_BYTES_A_SECOND`` that came, but never more than
    ``body_seconds`` ahead; while the service does not read, its time stands still. What the application reads has
    a clock of its own, which is stricter: this one holds where nobody reads, or reads line by line. Once the request is
    answered the rest of its body has ``unread_seconds``.
    """

    head_seconds = 10.0
    body_seconds = 65.0
    unread_seconds = 2.0
    tick_seconds = 0.5

    _timer: asyncio.TimerHandle | None = None
    _ticking: asyncio.TimerHandle | None = None
    _part = _Part.HEAD
    _progressed = False
    _unfinished_bytes = _head_bytes = 0
    _body_left = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_ticking()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._progressed = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self._progressed:  # all of it belongs to what has not ended; of a first piece that is not known
            self._unfinished_bytes += len(data)
            if self._unfinished_bytes > MAX_HEAD_BYTES:
                self.send_400_response("")
                return
        if self._part is _Part.BODY:
            self._start_ticking()
        elif self._part is _Part.HEAD or (not self._progressed and self.cycle.response_complete):
            self._start_timer()  # blank lines before a request are the beginning of its head

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
        self._stop_timer()
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
        self._stop_ticking()
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """The parser reads nothing after an upgrade, so the connection ends with the answer."""
        self.cycle.keep_alive = False

    def _progress(self) -> None:
        self._progressed = True
        self._unfinished_bytes = 0

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise HeadTooLongError  # the parser ends with an error of its own, which is answered

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_ticking(self) -> None:
        if self._ticking is None:
            self._ticking = self.loop.call_later(self.tick_seconds, self._tick)

    def _stop_ticking(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None

    def _tick(self) -> None:
        self._ticking = None
        if self.transport.is_closing():
            return
        if not self.flow.read_paused:
            self._body_left -= self.tick_seconds
        if self.cycle.response_complete:
            self._body_left = min(self._body_left, self.unread_seconds)
        if self._body_left > 0:
            self._start_ticking()
        elif self.cycle.response_complete:
            self.transport.close()
        else:
            self._end_with(STALLED)

    def send_400_response(self, _: str) -> None:
        self._end_with(MALFORMED)

    def _end_with(self, problem: Problem) -> None:
        """Close the connection; answer with ``problem`` unless another answer has begun, or is due before it."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._write(problem)
        elif not cycle.response_started and not self.pipeline:
            self._write(problem)
            cycle.disconnected = True  # what the application answers now would come second
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
