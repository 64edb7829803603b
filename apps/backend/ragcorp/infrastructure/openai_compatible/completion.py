"""One call of ``/chat/completions`` that is not streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.domain.ports.observers import TokenObserver, TokenObservers
from ragcorp.infrastructure.openai_compatible.call_tokens import CallTokens
from ragcorp.infrastructure.openai_compatible.client import Endpoint, make_client
from ragcorp.infrastructure.openai_compatible.failures import translated

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam


class Completions:
    """Calls a language model within the endpoint's deadline; counts its tokens."""

    def __init__(self, *, endpoint: Endpoint, model: str, max_tokens: int, tokens: TokenObserver | None) -> None:
        self._client = make_client(endpoint)
        self._deadline_seconds = endpoint.timeout_seconds
        self._model = model
        self._max_tokens = max_tokens
        self._tokens = tokens or TokenObservers()

    async def complete(
        self,
        messages: Sequence[ChatCompletionMessageParam],
        *,
        unavailable: Callable[[str], AnswererUnavailableError],
        **options: Any,
    ) -> str | None:
        """Return the text of a whole answer, if any. Raises ``unavailable(reason)``; ``cut`` for one that is cut."""
        with CallTokens(messages, observer=self._tokens) as call, translated(unavailable, call):
            async with asyncio.timeout(self._deadline_seconds):
                completion = await self._client.chat.completions.create(
                    model=self._model, messages=messages, max_tokens=self._max_tokens, temperature=0, **options
                )
            call.reported(completion.usage)
            choice = completion.choices[0]
            finished = choice.finish_reason == "stop"
            content: str | None = choice.message.content
            call.wrote(content or "")
        if not finished:
            raise unavailable("cut")
        return content

    async def aclose(self) -> None:
        await self._client.close()
