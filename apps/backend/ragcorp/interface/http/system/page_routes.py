"""Serves the built files of the web page, which need no key and contain no user data."""

import hashlib
import os
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import anyio
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Match, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from ragcorp.interface.http.layers.access import PAGE_FILES, PAGE_PATH
from ragcorp.interface.http.layers.security_headers import PAGE_POLICY
from ragcorp.interface.http.protocol.problems import Problem

BUILT = Path(__file__).parents[1] / "page"

REVALIDATED = "no-cache"
IMMUTABLE = "public, max-age=31536000, immutable"
"""For files whose names contain a hash of their content."""

MEDIA_TYPES: Mapping[str, str] = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
"""Fixed, unlike the system's table: with ``nosniff`` a browser runs no script of another type."""

MISSING = Problem(
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    code="page_missing",
    detail=(
        "The files of the page are not in this installation. In a checkout, `npm ci && npm run build` in "
        "apps/frontend-stub makes them. All else works: /docs shows what there is."
    ),
)


class UnlistedRoute(Route):
    """A route outside the OpenAPI description that metrics count like the framework's: it is in the scope."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is Match.FULL else child


def page_routes(folder: Path) -> list[UnlistedRoute]:
    """Return the routes of ``index.html`` of ``folder`` at ``/`` and of its assets below ``/assets/``."""
    index_file = anyio.Path(folder / "index.html")
    files = _BuiltFiles(directory=folder / "assets", check_dir=False)

    async def index(request: Request) -> Response:
        try:
            page = await index_file.read_bytes()
        except FileNotFoundError:
            return MISSING.response(request.scope)
        # from the content: reproducible builds give every index.html the same date and length
        etag = hashlib.sha256(page).hexdigest()[:32]
        headers = {"Cache-Control": REVALIDATED, "Content-Security-Policy": PAGE_POLICY}
        return files.unless_cached(HTMLResponse(page, headers=headers), request.headers, etag=etag, headers=headers)

    async def file(request: Request) -> Response:
        return await files.get_response(request.path_params["name"], request.scope)

    middleware = [Middleware(GZipMiddleware), Middleware(whole_files)]
    return [
        UnlistedRoute(path, endpoint, methods=["GET"], include_in_schema=False, middleware=middleware)
        for path, endpoint in ((PAGE_PATH, index), (f"{PAGE_FILES}{{name}}", file))
    ]


def whole_files(app: ASGIApp) -> ASGIApp:
    """Hide Range from ``app``, as HTTP allows: Starlette's answer to a bad one is no problem document."""

    async def without_range(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await app({**scope, "headers": headers}, receive, send)

    return without_range


class _BuiltFiles(StaticFiles):
    """Starlette's StaticFiles for files whose names contain a hash."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = HTTPStatus.OK,
    ) -> Response:
        path = Path(full_path)
        headers = {"Cache-Control": IMMUTABLE}
        response = FileResponse(
            path,
            status_code=status_code,
            headers=headers,
            media_type=MEDIA_TYPES.get(path.suffix),
            stat_result=stat_result,
        )
        del response.headers["last-modified"], response.headers["accept-ranges"]
        return self.unless_cached(response, Headers(scope=scope), etag=path.name, headers=headers)

    def unless_cached(
        self, response: Response, request_headers: Headers, *, etag: str, headers: Mapping[str, str]
    ) -> Response:
        """Return the response, or 304 with the headers ``headers``. The ETag is weak: both encodings share it."""
        response.headers["ETag"] = f'"{etag}"'
        if self.is_not_modified(response.headers, request_headers):
            response = Response(status_code=HTTPStatus.NOT_MODIFIED, headers={**headers, "Vary": "Accept-Encoding"})
        response.headers["ETag"] = f'W/"{etag}"'
        return response
