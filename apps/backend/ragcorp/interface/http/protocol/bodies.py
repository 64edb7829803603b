"""Reads request bodies: checks the media type first and the size while they arrive."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from pydantic import BaseModel
from starlette.requests import Request

from ragcorp.domain.exceptions import PayloadTooLargeError, UnsupportedMediaTypeError
from ragcorp.interface.http.protocol.json_body import parse_model
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.problems import BodyStalledError

Model = TypeVar("Model", bound=BaseModel)

JSON = "application/json"
MAX_LENGTH_DIGITS = 18
DEADLINE_KEY = "ragcorp.deadline"
"""Scope key of the request's ``asyncio.Timeout``, which some handlers extend."""


def media_type_of(request: Request) -> str:
    """Return the body's media type in lower case, without parameters.

    Raises UnsupportedMediaTypeError for a compressed body, whose size is unknown before unpacking.
    """
    if any(encoding.strip().lower() != "identity" for encoding in request.headers.getlist("content-encoding")):
        raise UnsupportedMediaTypeError(
            "Compressed bodies are not taken.",
            field="Content-Encoding",
            limit="identity",
            remedy="Send the body as it is, without Content-Encoding.",
        )
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def declared_length(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length[:MAX_LENGTH_DIGITS]) if length.isdecimal() else 0


async def read_json(request: Request, model: type[Model], limits: HttpLimits) -> Model:
    require_media_type(request, JSON)
    async with upload_time(request, limits):
        body = await read_body(request, limit=limits.max_body_bytes, setting="MAX_BODY_BYTES")
    return parse_model(body, model, max_depth=limits.max_json_depth)


class ReadRequest(Request):
    """A request whose JSON body is read and checked: FastAPI passes the model on to the handler's parameter."""

    def __init__(self, request: Request, body: BaseModel) -> None:
        super().__init__(request.scope, request.receive)
        self._checked = body

    async def body(self) -> bytes:
        return b"{}"  # not empty, so that FastAPI calls json()

    async def json(self) -> BaseModel:
        return self._checked


def require_media_type(request: Request, *accepted: str) -> None:
    if media_type_of(request) not in accepted:
        raise UnsupportedMediaTypeError(
            "The Content-Type is not one that this path takes.",
            field="Content-Type",
            limit=", ".join(accepted),
            remedy=f"Send {accepted[0]} with that Content-Type.",
        )


async def read_body(request: Request, *, limit: int, setting: str) -> bytes:
    """Return the body. Raises PayloadTooLargeError once more than ``limit`` bytes are declared or received."""
    if declared_length(request) > limit:
        raise too_large(limit, setting)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise too_large(limit, setting)
        chunks.append(chunk)
    return b"".join(chunks)


def too_large(limit: int, setting: str, *, field: str = "body") -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"The {field} is too large.",
        field=field,
        limit=f"{limit} bytes",
        remedy=f"Send less at once, or raise {setting}.",
    )


@asynccontextmanager
async def upload_time(request: Request, limits: HttpLimits) -> AsyncIterator[None]:
    """Allow the time of an upload inside the block, and the time of the request after it. Raises BodyStalledError."""
    allow(request, None)
    try:
        async with asyncio.timeout(limits.upload_timeout_seconds):
            yield
    except TimeoutError:
        raise BodyStalledError from None
    allow(request, limits.request_timeout_seconds)


def allow(request: Request, seconds: float | None) -> None:
    """Let the request run for ``seconds`` from now; None sets no bound."""
    deadline: asyncio.Timeout = request.scope[DEADLINE_KEY]
    deadline.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)
