"""Sends files whole: HTTP lets a server answer a range request with the whole file."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


def whole_files(app: ASGIApp) -> ASGIApp:
    """Return ``app`` without range requests, since Starlette's errors for bad ranges are not problem+json."""

    async def without_range(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await app({**scope, "headers": headers}, receive, send)

    return without_range
