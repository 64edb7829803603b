"""The outermost layer: request id, /v1, HEAD, unexpected errors and the count of requests. Pure ASGI."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragcorp.interface.http.metrics import HttpMetrics
from ragcorp.interface.http.problems import problem_of
from ragcorp.interface.http.request_id import HEADER, assign_request_id

logger = logging.getLogger(__name__)

VERSION_PREFIX = "/v1"
RAW_PREFIXES = ("/documents/", "/collections/", "/graph/entities/", "/graph/facts/", "/introspect/hydration/")
UNMATCHED = "unmatched"


class RequestBoundary:
    """Prepares a request for the routes and vouches for a response.

    Below /documents/ and /collections/ routes match the path as it was sent, so that ``a%2Fcontent`` (a document of
    that name) and ``a/content`` (the content of document ``a``) stay apart.
    """

    def __init__(self, app: ASGIApp, *, metrics: HttpMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = assign_request_id(scope)
        scope = _routed(scope)
        head = scope["method"] == "HEAD"
        if head:
            scope["method"] = "GET"
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (HEADER, request_id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
            elif head:
                message = {**message, "body": b""}
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception as error:
            logger.exception("request %s failed", request_id)
            if status:
                raise  # the head is out: only a broken connection can tell the caller now
            await problem_of(error).response(scope)(scope, receive, answer)
        finally:
            self._metrics.count_request(
                route=getattr(scope.get("route"), "path_format", UNMATCHED),
                method="HEAD" if head else scope["method"],
                status=status,
                seconds=time.perf_counter() - started,
            )


def _routed(scope: Scope) -> Scope:
    """Return a copy of the scope with the path that the routes know."""
    path: str = scope["path"]
    raw: bytes = scope.get("raw_path") or path.encode()
    if path == VERSION_PREFIX or path.startswith(f"{VERSION_PREFIX}/"):
        path = path[len(VERSION_PREFIX) :] or "/"
        raw = raw[len(VERSION_PREFIX) :] or b"/"
    if path.startswith(RAW_PREFIXES):
        path = raw.partition(b"?")[0].decode("latin-1")
    return {**scope, "path": path, "raw_path": raw}
