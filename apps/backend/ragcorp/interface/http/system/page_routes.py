"""The web page: the files that its build left, open to everybody. They hold nothing of anybody's."""

from __future__ import annotations

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
from starlette.routing import BaseRoute
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from ragcorp.interface.http.layers.access import PAGE_FILES, PAGE_PATH
from ragcorp.interface.http.layers.security_headers import PAGE_POLICY
from ragcorp.interface.http.protocol.problems import Problem
from ragcorp.interface.http.protocol.seen_route import SeenRoute
from ragcorp.interface.http.protocol.whole_files import whole_files

BUILT = Path(__file__).parents[1] / "page"

REVALIDATED = "no-cache"
FOR_GOOD = "public, max-age=31536000, immutable"
"""Of files whose names hold a hash of what is in them."""

MEDIA_TYPES: Mapping[str, str] = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
"""Not as the system's table has them: with ``nosniff`` a browser runs no script of another type."""

MISSING = Problem(
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    code="page_missing",
    detail=(
        "The files of the page are not in this installation. In a checkout, `npm ci && npm run build` in "
        "apps/frontend-stub makes them. All else works: /docs shows what there is."
    ),
)


class PageRoutes:
    """Serve the page in ``folder``: ``index.html`` at ``/``, the files that it names below ``/assets/``."""

    def __init__(self, *, folder: Path) -> None:
        self._index = anyio.Path(folder / "index.html")
        self._files = _BuiltFiles(directory=folder / "assets", check_dir=False)

    def add_to(self, routes: list[BaseRoute]) -> None:
        sent = [Middleware(GZipMiddleware), Middleware(whole_files)]
        for path, endpoint in ((PAGE_PATH, self.index), (f"{PAGE_FILES}{{name}}", self.file)):
            routes.append(
                SeenRoute(path, endpoint, methods=["GET"], include_in_schema=False, middleware=sent),
            )

    async def index(self, request: Request) -> Response:
        try:
            page = await self._index.read_bytes()
        except FileNotFoundError:
            return MISSING.response(request.scope)
        # of what is in it: a build in a clamped time gives every index.html the same date, and all have one length
        etag = hashlib.sha256(page).hexdigest()[:32]
        kept = {"Cache-Control": REVALIDATED, "Content-Security-Policy": PAGE_POLICY}
        return self._files.unless_held(HTMLResponse(page, headers=kept), request.headers, etag=etag, kept=kept)

    async def file(self, request: Request) -> Response:
        return await self._files.get_response(request.path_params["name"], request.scope)


class _BuiltFiles(StaticFiles):
    """Starlette's, for files of which each has a name of its own for each content."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = HTTPStatus.OK,
    ) -> Response:
        path = Path(full_path)
        kept = {"Cache-Control": FOR_GOOD}
        response = FileResponse(
            path,
            status_code=status_code,
            headers=kept,
            media_type=MEDIA_TYPES.get(path.suffix),
            stat_result=stat_result,
        )
        del response.headers["last-modified"], response.headers["accept-ranges"]
        return self.unless_held(response, Headers(scope=scope), etag=path.name, kept=kept)

    def unless_held(self, response: Response, asked: Headers, *, etag: str, kept: Mapping[str, str]) -> Response:
        """Return the response, or 304 for a client that holds it: with ``kept``, which takes the place of what it has.

        The ETag is weak, since it is that of the compressed and of the plain form.
        """
        response.headers["ETag"] = f'"{etag}"'
        if self.is_not_modified(response.headers, asked):
            response = Response(status_code=HTTPStatus.NOT_MODIFIED, headers={**kept, "Vary": "Accept-Encoding"})
        response.headers["ETag"] = f'W/"{etag}"'
        return response
