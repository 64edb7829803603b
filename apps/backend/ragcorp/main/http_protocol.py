"""The server's parser: it bounds the head of a request, and answers what is no HTTP with a problem as well."""

from __future__ import annotations

import asyncio
import secrets

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ragcorp.interface.http.problems import MEDIA_TYPE, FieldError, Problem

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


class HeadTooLongError(Exception):
    """More came than a request may begin with."""


class ProblemProtocol(HttpToolsProtocol):
    """Where the parser gives up there is no request yet, so nothing of the application can answer.

    The parser itself takes a head of any length, for as long as it takes to come. Here it has ``head_seconds`` from the
    connection, or its own first byte, to its end; what is longer is refused, and who sends none is hung up on.
    """

    head_seconds = 10.0

    _timer: asyncio.TimerHandle | None = None
    _in_head = True
    _began = False
    _unfinished_bytes = _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._began = False
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        if not self._began:  # all of it belongs to a head that has not ended; of a first piece that is not known
            self._unfinished_bytes += len(data)
            if self._unfinished_bytes > MAX_HEAD_BYTES:
                self.send_400_response("")
                return
        self._start_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = self._began = True
        self._unfinished_bytes = self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            raise HeadTooLongError

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

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

    def send_400_response(self, _: str) -> None:
        request_id = secrets.token_hex(16)
        body = orjson.dumps(MALFORMED.as_json(request_id))
        head = (
            "HTTP/1.1 400 Bad Request\r\n"
            f"content-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\n"
            f"x-request-id: {request_id}\r\n"
            "x-content-type-options: nosniff\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
