"""CORS (fetch standard) for the origins of CORS_ORIGINS; not installed without any."""

import re
from functools import partial
from http import HTTPStatus
from typing import cast

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.interface.http.protocol.problems import Problem

CORS_SEND = "ragcorp.cors_send"

ANY = "*"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
SENT_HEADERS = (
    "Authorization",
    "Content-Disposition",
    "Last-Event-ID",
    "Mcp-Protocol-Version",
    "Mcp-Session-Id",
    "X-Request-ID",
)
EXPOSED_HEADERS = (
    "Content-Disposition",
    "ETag",
    "Location",
    "Mcp-Session-Id",
    "Retry-After",
    "WWW-Authenticate",
    "X-Request-ID",
)
_ORIGIN = re.compile(r"https?://(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


def parse_origins(text: str, *, credentials: bool) -> tuple[str, ...]:
    """Parse a comma-separated list of origins. Raises ConfigurationError."""
    origins = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    if ANY in origins and credentials:
        raise ConfigurationError(
            "CORS_ORIGINS=* with CORS_CREDENTIALS would let every page act with the credentials of any visitor.",
            field="CORS_ORIGINS, CORS_CREDENTIALS",
            remedy="Name the origins, or unset CORS_CREDENTIALS.",
        )
    if (ANY in origins and len(origins) > 1) or not all(
        origin == ANY or _ORIGIN.fullmatch(origin) for origin in origins
    ):
        raise ConfigurationError(
            "CORS_ORIGINS is no list of origins.",
            field="CORS_ORIGINS",
            limit="scheme://host[:port], with commas between, or * alone",
            remedy="Write each as https://app.example.com: without path, and without a slash at its end.",
        )
    return origins


class Cors(CORSMiddleware):
    """Starlette's middleware, with problem responses to refused preflights.

    An outer layer that answers an inner failure sends through the scope's ``CORS_SEND``: without the CORS headers a
    browser hides the response from the page.
    """

    async def simple_response(self, scope: Scope, receive: Receive, send: Send, request_headers: Headers) -> None:
        scope[CORS_SEND] = partial(self.send, send=send, request_headers=request_headers)
        await self.app(scope, receive, scope[CORS_SEND])

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == HTTPStatus.OK:
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=self._headers_of(response))
        problem = Problem(
            status=HTTPStatus.BAD_REQUEST,
            code="cors_refused",
            detail="Pages of this origin may not send this request. CORS_ORIGINS names the origins that may.",
            headers=self._headers_of(response),
        )
        return cast("Response", problem)  # like a response, an ASGI application

    def _headers_of(self, response: Response) -> dict[str, str]:
        return {name: value for name, value in response.headers.items() if not name.startswith("content-")}
