"""Files are sent whole, as all else is: HTTP lets a server take a request for a part as one for all."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


def whole_files(app: ASGIApp) -> ASGIApp:
    """Return ``app`` as one that is never asked for a part: what Starlette says of a bad one is no problem of ours."""

    async def without_range(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await app({**scope, "headers": headers}, receive, send)

    return without_range
