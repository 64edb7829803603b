"""Bounds what a client reads of a response. Imported where the extra is installed only."""

from collections.abc import AsyncIterator
from typing import NoReturn, cast

import httpx2
import openai


async def bound_body(response: httpx2.Response, *, limit: int) -> None:
    """A hook for responses: a body that is longer than ``limit`` bytes, or compressed, raises openai.APIError."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        _refuse(response.request, "compressed, though it was asked not to be")
    if not isinstance(response.stream, _BoundedStream):
        stream = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _BoundedStream(stream, limit=limit, request=response.request)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, *, limit: int, request: httpx2.Request) -> None:
        self._stream = stream
        self._limit = limit
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > self._limit:
                _refuse(self._request, f"longer than {self._limit} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def _refuse(request: httpx2.Request, problem: str) -> NoReturn:
    raise openai.APIError(f"The response is {problem}.", request=request, body=None)
