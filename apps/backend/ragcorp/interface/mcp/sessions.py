"""Bounds the sessions that are open: a new one takes the place of the one that was idle longest."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SESSION = b"mcp-session-id"


OwnerOf = Callable[[Scope], str | None]
"""Tells by which key a request is made, None for the local user."""

NO_SESSION = b"0" * 32


def nobody(_: Scope) -> str | None:
    return None


class BoundedSessions:
    """Keeps count of the sessions of an MCP application. Clients that vanish leave theirs open.

    A session is its opener's: to the holder of another key it is one that there is not.
    """

    def __init__(self, app: ASGIApp, *, most: int, owner_of: OwnerOf = nobody) -> None:
        self._app = app
        self._most = most
        self._owner_of = owner_of
        self._owners: dict[str, str | None] = {}
        self._requests: dict[str, int] = {}  # that are answered now, by session; the one used last is the last
        self._opening = 0

    async def open(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request that opens a session, and return whether there was a place for one."""
        ended: str | None = None
        if len(self._requests) + self._opening >= self._most:
            ended = next((session for session, requests in self._requests.items() if not requests), None)
            if ended is None:
                return False
            self._forget(ended)
        opened: list[str] = []

        async def heard(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened.extend(_sessions(message["headers"]))
                self._requests.update(dict.fromkeys(opened, 1))
                self._owners.update(dict.fromkeys(opened, self._owner_of(scope)))
            await send(message)

        self._opening += 1
        try:
            if ended is not None:
                ending: Scope = {**scope, "method": "DELETE", "headers": [(SESSION, ended.encode("latin-1"))]}
                await self._app(ending, _nothing, _unheard)
            await self._app(scope, receive, heard)
            return True
        finally:
            self._opening -= 1
            for session in opened:
                self._answered(session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer any other request."""
        session = next((each for each in _sessions(scope["headers"]) if each in self._requests), None)
        if session is None:
            await self._app(scope, receive, send)
            return
        if self._owners[session] != self._owner_of(scope):
            others = [(name, value) for name, value in scope["headers"] if name.lower() != SESSION]
            await self._app({**scope, "headers": [*others, (SESSION, NO_SESSION)]}, receive, send)
            return
        gone = False

        async def heard(message: Message) -> None:
            nonlocal gone
            if message["type"] == "http.response.start":
                gone = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 400)
            await send(message)

        self._requests[session] = self._requests.pop(session) + 1
        try:
            await self._app(scope, receive, heard)
        finally:
            self._answered(session)
            if gone:
                self._forget(session)

    def _forget(self, session: str) -> None:
        self._requests.pop(session, None)
        self._owners.pop(session, None)

    def _answered(self, session: str) -> None:
        if session in self._requests:
            self._requests[session] -= 1


def _sessions(headers: list[tuple[bytes, bytes]]) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name.lower() == SESSION]


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_: Message) -> None:
    pass
