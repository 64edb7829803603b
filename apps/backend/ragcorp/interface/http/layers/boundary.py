"""The outermost layer: request id, /v1, HEAD, unexpected errors, request metrics and log. Pure ASGI."""

import logging
import time
from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragcorp.interface.http.layers.cors import CORS_SEND
from ragcorp.interface.http.layers.security_headers import with_security_headers
from ragcorp.interface.http.monitoring.metrics import METHODS, HttpMetrics
from ragcorp.interface.http.protocol.problems import problem_of
from ragcorp.interface.http.protocol.request_scope import HEADER, assign_request_id, caller_of, current_request
from ragcorp.tracing import RequestSpan, Span

logger = logging.getLogger(__name__)

VERSION_PREFIX = "/v1"
RAW_PREFIXES = ("/documents/", "/collections/", "/graph/entities/", "/graph/facts/", "/introspect/hydration/")
UNMATCHED = "unmatched"
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Probes call these every few seconds: logged at level debug."""

STREAM_TYPES = frozenset({b"text/event-stream", b"application/x-ndjson"})


class RequestBoundary:
    """Prepares requests for the routes and guarantees a response.

    Below RAW_PREFIXES routes match the undecoded path: ``a%2Fcontent`` is a name, ``a/content`` the content of ``a``.
    """

    def __init__(self, app: ASGIApp, *, metrics: HttpMetrics, worker: str | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._id_prefix = "" if worker is None else f"{worker}-"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError("only HTTP is served")  # inner layers rely on it
        request_id = assign_request_id(scope, prefix=self._id_prefix)
        with RequestSpan(Headers(scope=scope)) as span, current_request(request_id):
            await self._serve(scope, receive, send, request_id, span)

    async def _serve(self, received: Scope, receive: Receive, send: Send, request_id: str, span: Span) -> None:
        started = time.perf_counter()
        scope = _routed(received)
        head = scope["method"] == "HEAD"
        if head:
            scope["method"] = "GET"
        answered = _Answered()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered.status = message["status"]
                if _is_stream(message):
                    answered.streams = True
                    self._metrics.open_streams.inc()
                message["headers"] = with_security_headers((*message.get("headers", ()), (HEADER, request_id.encode())))
            elif head:
                message = {**message, "body": b""}
            await send(message)
            answered.sent(message)

        try:
            await self._app(scope, receive, answer)
        except Exception as error:
            logger.exception("request %s failed", request_id)
            answered.outcome = "error"
            if answered.status:
                raise  # the status is sent: only a broken connection can still report the error
            await problem_of(error)(scope, receive, scope.get(CORS_SEND, answer))
        except BaseException:
            answered.outcome = "cancelled"
            raise
        finally:
            if answered.streams:
                self._metrics.open_streams.dec()
            method = "HEAD" if head else scope["method"]
            route = getattr(scope.get("route"), "path_format", UNMATCHED)
            self._metrics.count_request(
                route=route, method=method, status=answered.status, seconds=time.perf_counter() - started
            )
            method = method if method in METHODS else "other"
            span.rename(f"{method} {route}")
            span.note(method=method, route=route, status=answered.status)
            if answered.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                span.fail(str(answered.status))
            _log(method, route, answered, key=caller_of(scope).key_id, seconds=time.perf_counter() - started)


@dataclass(slots=True)
class _Answered:
    """Progress of the response; ``status`` is 0 before its beginning."""

    status: int = 0
    bytes: int = 0
    complete: bool = False
    streams: bool = False
    outcome: str = ""

    def sent(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.bytes += len(message.get("body", b""))
            self.complete = not message.get("more_body", False)


def _log(method: str, route: str, answered: _Answered, *, key: str | None, seconds: float) -> None:
    """Log a request by its route; path and query may contain a user's text."""
    logger.log(
        logging.DEBUG if route in PROBES else logging.INFO,
        "request",
        extra={
            "fields": {
                "method": method,
                "route": route,
                "status": answered.status,
                "ms": round(seconds * 1000, 1),
                "bytes": answered.bytes,
                "key": key,
                "outcome": answered.outcome or outcome_of(answered),
            }
        },
    )


def outcome_of(answered: _Answered) -> str:
    """Return how a request ended, in a word; ``cut`` is a response without its end."""
    if not answered.complete:
        return "cut"
    if answered.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "failed"
    return "refused" if answered.status >= HTTPStatus.BAD_REQUEST else "ok"


def _is_stream(start: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.partition(b";")[0] in STREAM_TYPES
        for name, value in start.get("headers", ())
    )


def _routed(scope: Scope) -> Scope:
    """Return a copy of the scope with the path of the routes."""
    path: str = scope["path"]
    raw: bytes = scope.get("raw_path") or path.encode()
    if path == VERSION_PREFIX or path.startswith(f"{VERSION_PREFIX}/"):
        path = path[len(VERSION_PREFIX) :] or "/"
        raw = raw[len(VERSION_PREFIX) :] or b"/"
    if path.startswith(RAW_PREFIXES):
        path = raw.partition(b"?")[0].decode("latin-1")
    return {**scope, "path": path, "raw_path": raw}
