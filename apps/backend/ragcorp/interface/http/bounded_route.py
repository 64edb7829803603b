"""Routes whose handler answers in time, or not at all. What streams after that has its own clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ragcorp.interface.http.bodies import DEADLINE_KEY
from ragcorp.interface.http.problems import timed_out
from ragcorp.interface.http.services import HttpLimits

CLIENT_GONE = 499
"""nginx's status for a client that left; nobody receives it, the metrics count it."""


class BoundedRoute(APIRoute):
    """Cancels a handler that does not return its response in time."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            limits: HttpLimits = request.app.state.limits
            try:
                async with asyncio.timeout(limits.request_timeout_seconds) as deadline:
                    request.scope[DEADLINE_KEY] = deadline
                    return await handle(request)
            except TimeoutError:
                return timed_out().response(request.scope)
            except ClientDisconnect:
                return Response(status_code=CLIENT_GONE)

        return bounded
