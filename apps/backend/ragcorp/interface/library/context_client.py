"""Loads the memory briefing from another ragcorp service. On any failure the caller starts without memory."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from anyio.from_thread import start_blocking_portal

from ragcorp.domain.exceptions import MissingExtraError

if TYPE_CHECKING:
    from httpx2 import AsyncClient

if find_spec("httpx2") is None:
    raise MissingExtraError(feature="ragcorp.load_memory_context", extra="client")

logger = logging.getLogger(__name__)

PATH = "/v1/context"
DEFAULT_QUERY = "recent conversations and key facts"
MAX_RESPONSE_BYTES = 8 * 1024 * 1024
"""Fits fifty items of the maximum length and their briefing."""
MAX_CONTEXT_CHARACTERS = 100_000
"""The upper bound of MAX_MEMORY_CHARS."""
CLOSE_SECONDS = 0.5


class UnusableResponseError(Exception):
    """The service answered, but not with a briefing."""


async def load_memory_context(
    *,
    context_engine_url: str,
    token: str = "",
    query: str = DEFAULT_QUERY,
    limit: int = 10,
    timeout: float = 3.0,  # noqa: ASYNC109 - the deadline of the whole call, which never raises TimeoutError
) -> str:
    """Return the briefing of the service at ``context_engine_url``, ready for a prompt, within ``timeout`` seconds.

    "" where nothing is remembered, and for every failure: the log says what it was. Nothing but a cancellation is
    raised. ``token`` is sent as a bearer token, to that address alone: no redirect is followed.

    >>> import asyncio
    >>> asyncio.run(load_memory_context(context_engine_url='http://127.0.0.1:9'))
    ''
    """
    loading = asyncio.ensure_future(_load(context_engine_url, token=token, query=query, limit=limit, timeout=timeout))
    try:
        done, _ = await asyncio.wait({loading}, timeout=max(0.0, timeout))
        if not done:
            logger.warning("the memory context was not loaded: timeout")
            return ""
        return loading.result()
    except Exception as error:  # noqa: BLE001 - a caller without memory is better off than one that fails
        logger.warning("the memory context was not loaded: %s", type(error).__name__)
        return ""
    finally:
        if not loading.done():
            loading.cancel()
            # do not wait for a connection that does not close
            await asyncio.wait({loading}, timeout=CLOSE_SECONDS)


def load_memory_context_blocking(
    *, context_engine_url: str, token: str = "", query: str = DEFAULT_QUERY, limit: int = 10, timeout: float = 3.0
) -> str:
    """Return what ``load_memory_context`` returns, for code without an event loop.

    >>> load_memory_context_blocking(context_engine_url='http://127.0.0.1:9')
    ''
    """
    load = partial(
        load_memory_context,
        context_engine_url=context_engine_url,
        token=token,
        query=query,
        limit=limit,
        timeout=timeout,
    )
    with start_blocking_portal() as portal:
        return portal.call(load)


async def _load(url: str, *, token: str, query: str, limit: int, timeout: float) -> str:  # noqa: ASYNC109
    import httpx2

    async with httpx2.AsyncClient(follow_redirects=False, timeout=timeout, trust_env=False) as client:
        body = await _body(client, url, token=token, query=query, limit=limit)
    answer = json.loads(body)
    context = answer.get("context") if isinstance(answer, dict) else None
    if not isinstance(context, str) or len(context) > MAX_CONTEXT_CHARACTERS:
        raise UnusableResponseError
    return context


async def _body(client: AsyncClient, url: str, *, token: str, query: str, limit: int) -> bytes:
    # a compressed body could exceed the limit once unpacked
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"} | (
        {"Authorization": f"Bearer {token}"} if token else {}
    )
    address = f"{url.rstrip('/').removesuffix(PATH)}{PATH}"
    body = b""
    async with client.stream("GET", address, params={"query": query, "limit": limit}, headers=headers) as response:
        if response.status_code != 200:
            raise UnusableResponseError
        async for part in response.aiter_raw():
            body += part
            if len(body) > MAX_RESPONSE_BYTES:
                raise UnusableResponseError
    return body
