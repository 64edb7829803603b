"""Refuses unknown hosts and foreign pages, on every path alike, /mcp included. Pure ASGI; the body is not read.

A web page reaches the loopback address through the user's browser. The Host header reveals DNS rebinding, Origin and
Sec-Fetch-Site a request from another page.
"""

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ragcorp.interface.http.layers.access import OPEN_PATHS, PAGE_PATH
from ragcorp.interface.http.layers.authentication import is_description
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.problems import FieldError, Problem
from ragcorp.interface.http.protocol.request_scope import caller_of

DEFAULT_PORTS = {"http": ":80", "https": ":443"}

MISDIRECTED = Problem(
    status=HTTPStatus.MISDIRECTED_REQUEST,
    code="unknown_host",
    detail=(
        "The Host header does not name this service. Ask it as localhost or 127.0.0.1; a proxy before it sends one of "
        "these as Host."
    ),
)
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

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::\d*)?")


class HostCheck:
    """Answers 421 unless the request has exactly one Host header, which names one of ``allowed`` with any port."""

    def __init__(self, app: ASGIApp, *, allowed: AbstractSet[str]) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _host_of(scope) not in self._allowed:
            await MISDIRECTED(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class OriginCheck:
    """Answers 403 to pages of other origins that would act as the local user. Runs behind authentication.

    A browser sends simple requests (the fetch standard's term) from any page, without a preflight. Requests without
    Origin and Sec-Fetch-Site come from other programs and pass; a link to the web page or to the interactive
    description may be followed from anywhere. ``allowed`` are origins by name: what any page may do with a key ("*"),
    it may not do as the local user.
    """

    def __init__(self, app: ASGIApp, *, allowed: Collection[str], metrics: HttpMetrics) -> None:
        self._app = app
        self._allowed = frozenset(allowed)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in OPEN_PATHS and caller_of(scope).key_id is None and self._is_foreign(scope):
            self._metrics.count_refusal(FOREIGN.code)
            await FOREIGN(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_foreign(self, scope: Scope) -> bool:
        origins = _values(scope, "origin")
        if origins:
            return len(origins) > 1 or not (origins[0] in self._allowed or _is_own(origins[0], scope))
        if "cross-site" not in _values(scope, "sec-fetch-site"):
            return False
        linked = is_description(scope) or (scope["path"] == PAGE_PATH and scope["method"] == "GET")
        return not (linked and _values(scope, "sec-fetch-mode") == ["navigate"])


def _host_of(scope: Scope) -> str | None:
    """Return the host in lower case, without port and brackets; None unless there is exactly one."""
    hosts = _values(scope, "host")
    match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return (match[1] or match[2]) if match else None


def _is_own(origin: str, scope: Scope) -> bool:
    """Return whether the Host header names the origin: by http, or by https behind a proxy."""
    scheme, _, host = origin.partition("://")
    port = DEFAULT_PORTS.get(scheme)
    own = _values(scope, "host")
    return port is not None and len(own) == 1 and host.removesuffix(port) == own[0].removesuffix(port)


def _values(scope: Scope, header: str) -> list[str]:
    return [value.strip().lower() for value in Headers(scope=scope).getlist(header)]
