"""Cancels the call of a client that has left: the SDK would keep it running for a stream to resume."""

from __future__ import annotations

import json

from pydantic_core import from_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragcorp.interface.mcp.sessions import SESSION

CANCELLED = "notifications/cancelled"


class CancelsLeftCalls:
    """Sends the session a cancellation if a connection closes before its request is answered.

    An outer layer has read the body: the first message has all of it.
    """

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
            await self._app(_without_lengths(scope), _body({"requestId": request}), _ignore)


def _request_of(body: bytes) -> int | str | None:
    """Return the id of a request; a notification has none."""
    message = from_json(body or b"null")
    return message.get("id") if isinstance(message, dict) and "method" in message else None


def _without_lengths(scope: Scope) -> Scope:
    headers = [(name, value) for name, value in scope["headers"] if name not in (b"content-length", b"mcp-method")]
    return {**scope, "headers": headers}


def _body(params: dict[str, int | str]) -> Receive:
    content = json.dumps({"jsonrpc": "2.0", "method": CANCELLED, "params": params}).encode()
    unread: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def received() -> Message:
        return unread.pop() if unread else {"type": "http.disconnect"}

    return received


async def _ignore(_: Message) -> None:
    pass
