"""Use case: load a memory briefing for the prompt of a language model."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import anyio.to_thread

from ragcorp.application.memory.briefing import (
    MAX_ITEM_CHARS,
    MAX_MEMORY_CHARS,
    fence_characters,
    fenced,
    format_memory_briefing,
    neutral_item,
)
from ragcorp.domain.collections import MAX_ITEM_NAME
from ragcorp.domain.exceptions import AllSourcesFailedError, InvalidInputError
from ragcorp.domain.filters import Condition
from ragcorp.domain.memory import MemoryContext, MemoryItem
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchHit, SearchRequest, SearchResponse
from ragcorp.domain.text.checks import require_length, require_storable

DEFAULT_QUERY = "recent conversations and key facts"
MEMORY_PROFILE = "memory"
MAX_CONTEXT_ITEMS = 50
TOKEN_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLimits:
    """``timeout_seconds`` bounds the whole load, ``max_characters`` the text for the prompt."""

    default_limit: int = 5
    max_limit: int = MAX_CONTEXT_ITEMS
    timeout_seconds: float = 3.0
    item_characters: int = MAX_ITEM_CHARS
    max_characters: int = MAX_MEMORY_CHARS


def random_token() -> str:
    return secrets.token_hex(TOKEN_BYTES)


class LoadContext:
    """Searches by the memory profile; ``make_token`` makes the random part of a fence."""

    def __init__(
        self, *, search: ChunkSearch, limits: ContextLimits, make_token: Callable[[], str] = random_token
    ) -> None:
        self._search = search
        self._limits = limits
        self._make_token = make_token

    async def load(
        self, query: str = DEFAULT_QUERY, *, limit: int | None = None, session: str | None = None, principal: Principal
    ) -> MemoryContext:
        """Return the context of the best ``limit`` items, of one ``session`` if it is given.

        Raises InvalidInputError, and AllSourcesFailedError, also at the timeout.
        """
        limits = self._limits
        limit = limits.default_limit if limit is None else limit
        if not 1 <= limit <= limits.max_limit:
            raise InvalidInputError(
                "limit is out of range.",
                field="limit",
                limit=f"1 to {limits.max_limit}",
                remedy="Ask for a number of items in the range.",
            )
        if session is not None:
            require_length(session, field="session", limit=MAX_ITEM_NAME, minimum=1)
            require_storable(session, field="session")
        request = SearchRequest(
            query=query,
            limit=limit,
            profile=MEMORY_PROFILE,
            filters=() if session is None else (Condition(name="session", values=(session,)),),
        )
        try:
            async with asyncio.timeout(limits.timeout_seconds):
                response = await self._search.search(request, principal=principal)
        except TimeoutError:
            raise AllSourcesFailedError(
                "The memory did not come in time.", reason="timeout", remedy="Try again, or raise CONTEXT_LOAD_TIMEOUT."
            ) from None
        # off the event loop: fifty long texts take milliseconds
        return await anyio.to_thread.run_sync(self._context, response)

    def _context(self, response: SearchResponse) -> MemoryContext:
        limits = self._limits
        items = tuple(neutral_item(_item(hit)) for hit in response.hits)
        token = self._make_token()
        briefing = format_memory_briefing(
            items,
            item_characters=limits.item_characters,
            max_characters=limits.max_characters - fence_characters(token),
        )
        return MemoryContext(context=fenced(briefing, token=token), items=items, response=response)


def _item(hit: SearchHit) -> MemoryItem:
    chunk = hit.chunk
    return MemoryItem(
        id=chunk.id,
        collection=chunk.collection,
        text=chunk.content,
        score=hit.score,
        speaker=chunk.speaker,
        session=chunk.session,
        occurred_at=chunk.occurred_at,
        entities=chunk.entities,
    )
