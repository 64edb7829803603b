"""Lingering close: drains a rejected upload so that the client receives the error."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LINGER_SECONDS = 1.0
LINGER_BYTES = 64 * 1024 * 1024
SMALL_DIGITS = 5
"""A Content-Length of at most this many digits is small."""


class LingeringClose:
    """Closes the connection after an error response that precedes the end of a large body.

    Closing at once could lose the response, so the rest of the body is first discarded for a bounded time.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _may_be_large(scope):
            await self._app(scope, receive, send)
            return
        unread = True
        refused = False

        async def watched_receive() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and message["type"] == "http.request" and message.get("more_body", False)
            return message

        async def watched_send(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start":
                refused = unread and message["status"] >= HTTPStatus.BAD_REQUEST
                if refused:
                    others = (pair for pair in message.get("headers", ()) if pair[0].lower() != b"connection")
                    message["headers"] = [*others, (b"connection", b"close")]
                await send(message)
            elif refused and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await _drain(watched_receive, lambda: unread)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await send(message)

        await self._app(scope, watched_receive, watched_send)


async def _drain(receive: Receive, unread: Callable[[], bool]) -> None:
    remaining = LINGER_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while unread() and remaining > 0:
                remaining -= len((await receive()).get("body", b""))


def _may_be_large(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and len(value) > SMALL_DIGITS)
        for name, value in scope["headers"]
    )
