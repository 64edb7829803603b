"""Keeps pages of other origins away from the local user, for whom no key speaks. Pure ASGI; the body is not read."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from ragcorp.interface.http.layers.access import OPEN_PATHS, PAGE_PATH
from ragcorp.interface.http.layers.authentication import is_description
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.principal import caller_of
from ragcorp.interface.http.protocol.problems import FieldError, Problem

DEFAULT_PORTS = {"http": ":80", "https": ":443"}

FOREIGN = Problem(
    status=HTTPStatus.FORBIDDEN,
    code="foreign_origin",
    detail="A page of another origin may not act as the local user, who has no key.",
    errors=[
        FieldError(
            field="Origin",
            message="The page that sent the request is of another origin.",
            limit="this service's own origin, or one that CORS_ORIGINS names (* names none)",
            remedy="Name the origin in CORS_ORIGINS, or make a key with `ragcorp keys create` and send it.",
        )
    ],
)


class OriginCheck:
    """Answers 403 to the pages of strangers, behind authentication.

    A browser sends some requests without asking the service first (the fetch standard's simple ones: a POST of plain
    text or of a form), from any page that its user opens, over the loopback address too. Where no key is asked for,
    only what the browser says of the page tells. Programs that are no browsers say nothing and are let through; a
    link to the web page or to the interactive description may be followed from anywhere.

    ``allowed`` are origins by name; what any page may do with a key ("*") it may not do as the local user.
    ``unchecked`` are paths that check origins themselves.
    """

    def __init__(
        self, app: ASGIApp, *, allowed: Collection[str], unchecked: Collection[str], metrics: HttpMetrics
    ) -> None:
        self._app = app
        self._allowed = frozenset(allowed)
        self._unchecked = OPEN_PATHS | frozenset(unchecked)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        checked = scope["type"] == "http" and scope["path"] not in self._unchecked
        if checked and caller_of(scope).key_id is None and self._is_foreign(scope):
            self._metrics.count_refusal(FOREIGN.code)
            await FOREIGN.response(scope)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_foreign(self, scope: Scope) -> bool:
        origins = _values(scope, b"origin")
        if origins:
            return len(origins) > 1 or not (origins[0] in self._allowed or _is_own(origins[0], scope))
        if "cross-site" not in _values(scope, b"sec-fetch-site"):
            return False
        return not (_is_destination(scope) and _values(scope, b"sec-fetch-mode") == ["navigate"])


def _is_destination(scope: Scope) -> bool:
    return is_description(scope) or (scope["path"] == PAGE_PATH and scope["method"] == "GET")


def _is_own(origin: str, scope: Scope) -> bool:
    """Say whether an origin is the one that the Host header names: by http or by the TLS of a proxy."""
    scheme, _, host = origin.partition("://")
    port = DEFAULT_PORTS.get(scheme)
    own = _values(scope, b"host")
    return port is not None and len(own) == 1 and host.removesuffix(port) == own[0].removesuffix(port)


def _values(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1").strip().lower() for name, value in scope["headers"] if name == wanted]
