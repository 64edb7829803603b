"""Authenticates callers on all paths but health and the web page. Pure ASGI; reads no body."""

import base64
import binascii
import ipaddress
from dataclasses import replace

from starlette.types import ASGIApp, Receive, Scope, Send

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.keys import Caller, UnauthenticatedError
from ragcorp.domain.ports.keys import Authenticator
from ragcorp.interface.http.layers.access import OPEN_PATHS, is_of_page
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.problems import Problem, problem_of
from ragcorp.interface.http.protocol.request_scope import CALLER_KEY

MAX_CREDENTIAL = 400
"""Bytes of an Authorization header; a key of this service has 70."""

MALFORMED = ""
"""Replaces any credential in a foreign form."""

DESCRIPTION = ("/openapi.json", "/docs")
DESCRIPTION_BELOW = "/docs/"
BASIC = 'Basic realm="ragcorp", charset="UTF-8"'


class Authentication:
    """Puts the caller into the scope, or answers 401; 503 where keys cannot be looked up.

    Without a key only a client on a loopback address is the local user, wherever the service listens.

    A user cannot give a browser a Bearer token. So the interactive description alone accepts Basic: the key's id as
    user, its secret as password. No other path does, because browsers send such credentials on requests of other pages
    too.
    """

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator, metrics: HttpMetrics) -> None:
        self._app = app
        self._authenticator = authenticator
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in OPEN_PATHS or is_of_page(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            caller = await self._caller(scope)
        except RagcorpError as error:
            if isinstance(error, UnauthenticatedError):
                self._metrics.count_refusal(error.code)
            await _refusal(error, scope)(scope, receive, send)
            return
        scope[CALLER_KEY] = caller  # not in a copy: outer layers count and log it
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        credential = credential_of(scope)
        if credential is None and not _over_loopback(scope):
            raise UnauthenticatedError
        return await self._authenticator.caller(credential)


def credential_of(scope: Scope) -> str | None:
    """Return the credential as ``id.secret``; None if there is none."""
    headers: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if not headers:
        return None
    if len(headers) > 1 or len(headers[0]) > MAX_CREDENTIAL:
        return MALFORMED
    scheme, _, sent = headers[0].decode("latin-1").strip().partition(" ")
    match scheme.lower():
        case "bearer":
            return sent.strip()
        case "basic" if is_description(scope):
            return _of_basic(sent.strip())
        case _:
            return MALFORMED


def _of_basic(sent: str) -> str:
    try:
        user, _, password = base64.b64decode(sent, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return MALFORMED
    return f"{user}.{password}"


def is_description(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "GET" and (path in DESCRIPTION or path.startswith(DESCRIPTION_BELOW))


def _refusal(error: RagcorpError, scope: Scope) -> Problem:
    problem = problem_of(error)
    if isinstance(error, UnauthenticatedError) and is_description(scope):
        return replace(problem, headers={**problem.headers, "WWW-Authenticate": BASIC})
    return problem


def _over_loopback(scope: Scope) -> bool:
    """Return whether the request came over loopback or a Unix socket, which has no address."""
    server = scope.get("server")
    if server is None or server[0] == "localhost" or server[1] is None:
        return True
    try:
        address = ipaddress.ip_address(server[0].partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)  # a socket of IPv6 that takes IPv4 too
    return bool((mapped or address).is_loopback)
