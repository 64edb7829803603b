"""Takes requests for known hosts only."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from starlette.types import ASGIApp, Receive, Scope, Send

from ragcorp.interface.http.protocol.problems import Problem

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::\d*)?")

MISDIRECTED = Problem(
    status=421,
    code="unknown_host",
    detail=(
        "The Host header does not name this service. Ask it as localhost or 127.0.0.1; a proxy before it sends one of "
        "these as Host."
    ),
)


class HostCheck:
    """Refuses a request unless it has exactly one Host header, which names one of ``allowed`` with any port.

    A service without keys trusts whoever reaches its loopback address. A web page reaches it too, through the user's
    browser, once the page's own name resolves to 127.0.0.1 (DNS rebinding): only the Host header then tells.
    """

    def __init__(self, app: ASGIApp, *, allowed: AbstractSet[str]) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _host_of(scope) not in self._allowed:
            await MISDIRECTED.response(scope)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _host_of(scope: Scope) -> str | None:
    """Return the host in lower case, without port and brackets; None where there is not exactly one."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    found = _HOST.fullmatch(hosts[0].decode("latin-1").lower()) if len(hosts) == 1 else None
    return (found.group(1) or found.group(2)) if found else None
