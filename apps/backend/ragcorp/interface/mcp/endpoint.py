"""Streamable HTTP as an ASGI application: bounds the body and keeps the sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, ErrorData, JSONRPCError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragcorp.interface.mcp.messages import STOPPING, refusals
from ragcorp.interface.mcp.sessions import (
    SESSION,
    BoundedSessions,
    CancelAbandonedCalls,
    Full,
    OwnerOf,
    no_owner,
    replayed,
)
from ragcorp.interface.mcp.shared_context import SharedContext

RETRY_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointLimits:
    """Bounds of the endpoint; times in seconds.

    Above ``max_sessions``, or ``max_sessions_of_key``, a new session ends the opener's longest idle one, or is refused.
    """

    max_body_bytes: int = 1024 * 1024
    upload_seconds: float = 60.0
    max_sessions: int = 256
    max_sessions_of_key: int = 64
    idle_seconds: float = 600.0
    stop_seconds: float = 1.0


class McpEndpoint:
    """Serves an MCP server at one path, with sessions inside ``running`` until ``end_sessions``.

    ``stopping`` is set when they end; ``owner_of`` returns the owner of a request, who alone may use its sessions.
    Without ``keeps_sessions`` each message is answered by itself, so that any worker of a service can answer it.
    """

    def __init__(
        self,
        server: Server[Any],
        *,
        limits: EndpointLimits,
        owner_of: OwnerOf = no_owner,
        stopping: asyncio.Event | None = None,
        keeps_sessions: bool = True,
    ) -> None:
        self._server = server
        self._keeps_sessions = keeps_sessions
        self._owner_of = owner_of
        self._limits = limits
        self._stopping = stopping or asyncio.Event()
        self._answering: set[asyncio.Task[Any]] = set()
        self._sessions = SharedContext(self._manage, name="MCP sessions")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[McpEndpoint]:
        await self._sessions.value()
        try:
            yield self
        finally:
            await self.end_sessions()

    async def calls_end(self) -> None:
        """Wait until no message is being answered."""
        while self._answering:
            await asyncio.wait(self._answering)

    async def end_sessions(self) -> None:
        """Refuse further requests, let running calls answer that the service stops, then end all sessions."""
        self._stopping.set()
        if self._answering:
            await asyncio.wait(self._answering, timeout=self._limits.stop_seconds)
        await self._sessions.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        opens = False
        if scope["method"] != "POST" and not self._keeps_sessions:
            no_session = _error(HTTPStatus.METHOD_NOT_ALLOWED, "This service keeps no sessions: POST each message.")
            no_session.headers["Allow"] = "POST"
            await no_session(scope, receive, send)
            return
        if scope["method"] == "POST":
            try:
                async with asyncio.timeout(self._limits.upload_seconds):
                    body = await _body(Request(scope, receive), limit=self._limits.max_body_bytes)
            except TimeoutError:
                await _error(HTTPStatus.REQUEST_TIMEOUT, "The body did not come in time.")(scope, receive, send)
                return
            except ClientDisconnect:
                return
            refusal = self._unreadable(body)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            receive = replayed(body or b"", receive)
            opens = (
                self._keeps_sessions
                and all(name != SESSION for name, _ in scope["headers"])
                and from_json(body or b"").get("method") == "initialize"
            )
        sessions = await self._served()
        if sessions is None:
            await _error(HTTPStatus.SERVICE_UNAVAILABLE, STOPPING, INTERNAL_ERROR)(scope, receive, send)
            return
        with self._counted(scope):
            if not opens:
                await sessions(scope, receive, send)
            elif (full := await sessions.open(scope, receive, send)) is not None:
                await _full(full, self._limits)(scope, receive, send)

    async def _served(self) -> BoundedSessions | None:
        """Return the sessions; None while they end."""
        if self._stopping.is_set():
            return None
        try:
            return await self._sessions.value()
        except RuntimeError:
            return None

    @contextmanager
    def _counted(self, scope: Scope) -> Iterator[None]:
        """Count a POST among those that ``end_sessions`` waits for; streams have no end."""
        task = asyncio.current_task()
        if scope["method"] != "POST" or task is None:
            yield
            return
        self._answering.add(task)
        try:
            yield
        finally:
            self._answering.discard(task)

    @asynccontextmanager
    async def _manage(self) -> AsyncIterator[BoundedSessions]:
        manager = StreamableHTTPSessionManager(
            self._server,
            stateless=not self._keeps_sessions,
            session_idle_timeout=self._limits.idle_seconds if self._keeps_sessions else None,
            max_sessions=None,
            max_request_body_size=self._limits.max_body_bytes,
        )
        async with manager.run():
            yield BoundedSessions(
                CancelAbandonedCalls(manager.handle_request),
                most=self._limits.max_sessions,
                most_of_key=self._limits.max_sessions_of_key,
                owner_of=self._owner_of,
            )

    def _unreadable(self, body: bytes | None) -> Response | None:
        """Refuse what is no message; the SDK's own errors would repeat the body."""
        if body is None:
            too_large = f"The body is larger than {self._limits.max_body_bytes} bytes (MAX_BODY_BYTES)."
            return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large)
        errors = refusals(body)
        if not errors:
            return None
        return _response(
            HTTPStatus.BAD_REQUEST, errors[0] if len(errors) == 1 else errors[0].model_copy(update={"id": None})
        )


async def _body(request: Request, *, limit: int) -> bytes | None:
    """Return the body; None above ``limit`` bytes. Raises ClientDisconnect."""
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > limit:
            return None
    return bytes(body)


def _error(status: HTTPStatus, message: str, code: int = INVALID_REQUEST) -> Response:
    return _response(status, JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message)))


def _full(full: Full, limits: EndpointLimits) -> Response:
    if full is Full.KEY:
        status, whose = HTTPStatus.TOO_MANY_REQUESTS, "of the key "
        limit = f"{limits.max_sessions_of_key} sessions of one key"
    else:
        status, whose, limit = HTTPStatus.SERVICE_UNAVAILABLE, "", f"{limits.max_sessions} sessions"
    message = (
        f"Too many sessions {whose}are open, and none of yours is idle. End one, or try again later. (limit: {limit})"
    )
    response = _error(status, message, INTERNAL_ERROR)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _response(status: HTTPStatus, error: JSONRPCError) -> Response:
    return Response(
        error.model_dump_json(by_alias=True, exclude_unset=True), status_code=status, media_type="application/json"
    )
