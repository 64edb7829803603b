"""Bounds the open sessions, and cancels the calls of clients that disconnected."""

import json
from collections import Counter
from collections.abc import Callable
from enum import Enum, auto

from pydantic_core import from_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SESSION = b"mcp-session-id"
CANCELLED = "notifications/cancelled"

OwnerOf = Callable[[Scope], str | None]
"""Returns the key of a request, None for the local user."""

NO_SESSION = b"0" * 32


class Full(Enum):
    KEY = auto()
    ALL = auto()


def no_owner(_: Scope) -> str | None:
    return None


class BoundedSessions:
    """Counts the sessions of an MCP application. Clients that vanish leave theirs open.

    At most ``most`` are open, and ``most_of_key`` of one key; the local user, who exists only without keys, may open
    all. A session belongs to its opener: for another key it does not exist, and it never ends for another key's.
    """

    def __init__(self, app: ASGIApp, *, most: int, most_of_key: int, owner_of: OwnerOf = no_owner) -> None:
        self._app = app
        self._most = most
        self._most_of_key = most_of_key
        self._owner_of = owner_of
        self._owners: dict[str, str | None] = {}
        self._requests: dict[str, int] = {}  # open requests by session, the last used session last
        self._opening: Counter[str | None] = Counter()

    async def open(self, scope: Scope, receive: Receive, send: Send) -> Full | None:
        """Answer a request that opens a session, or return the limit that refuses it."""
        owner = self._owner_of(scope)
        ended: str | None = None
        full = self._full(owner)
        if full is not None:
            idle = (name for name, requests in self._requests.items() if not requests and self._owners[name] == owner)
            ended = next(idle, None)
            if ended is None:
                return full
            self._forget(ended)
        opened: list[str] = []

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened.extend(_sessions(message["headers"]))
                self._requests.update(dict.fromkeys(opened, 1))
                self._owners.update(dict.fromkeys(opened, owner))
            await send(message)

        self._opening[owner] += 1
        try:
            if ended is not None:
                ending: Scope = {**scope, "method": "DELETE", "headers": [(SESSION, ended.encode("latin-1"))]}
                await self._app(ending, replayed(b"", _disconnected), _ignore)
            await self._app(scope, receive, observed)
            return None
        finally:
            self._opening[owner] -= 1
            self._opening = +self._opening
            for session in opened:
                self._answered(session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = next((name for name in _sessions(scope["headers"]) if name in self._requests), None)
        if session is None:
            await self._app(scope, receive, send)
            return
        if self._owners[session] != self._owner_of(scope):
            others = [(name, value) for name, value in scope["headers"] if name.lower() != SESSION]
            await self._app({**scope, "headers": [*others, (SESSION, NO_SESSION)]}, receive, send)
            return
        gone = False

        async def observed(message: Message) -> None:
            nonlocal gone
            if message["type"] == "http.response.start":
                gone = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 400)
            await send(message)

        self._requests[session] = self._requests.pop(session) + 1
        try:
            await self._app(scope, receive, observed)
        finally:
            self._answered(session)
            if gone:
                self._forget(session)

    def _full(self, owner: str | None) -> Full | None:
        if owner is not None:
            own = sum(other == owner for other in self._owners.values()) + self._opening[owner]
            if own >= self._most_of_key:
                return Full.KEY
        return Full.ALL if len(self._requests) + self._opening.total() >= self._most else None

    def _forget(self, session: str) -> None:
        self._requests.pop(session, None)
        self._owners.pop(session, None)

    def _answered(self, session: str) -> None:
        if session in self._requests:
            self._requests[session] -= 1


def _sessions(headers: list[tuple[bytes, bytes]]) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name.lower() == SESSION]


async def _ignore(_: Message) -> None:
    pass


class CancelAbandonedCalls:
    """Cancels a call whose connection closes before it is answered. The first message has the whole body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST" or not any(name == SESSION for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        first = await receive()
        unread = [first]
        left = complete = False

        async def received() -> Message:
            nonlocal left
            message = unread.pop() if unread else await receive()
            left = left or message["type"] == "http.disconnect"
            return message

        async def sent(message: Message) -> None:
            nonlocal complete
            await send(message)
            complete = message["type"] == "http.response.body" and not message.get("more_body", False)

        await self._app(scope, received, sent)
        request = _request_of(first.get("body", b""))
        if left and not complete and request is not None:
            cancelled = json.dumps({"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": request}}).encode()
            headers = [pair for pair in scope["headers"] if pair[0] not in (b"content-length", b"mcp-method")]
            await self._app({**scope, "headers": headers}, replayed(cancelled, _disconnected), _ignore)


def _request_of(body: bytes) -> int | str | None:
    """Return the id of a request; a notification has none."""
    message = from_json(body or b"null")
    return message.get("id") if isinstance(message, dict) and "method" in message else None


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a receive that repeats a body that was read, and then continues with ``receive``."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return unread.pop() if unread else await receive()

    return received


async def _disconnected() -> Message:
    return {"type": "http.disconnect"}
