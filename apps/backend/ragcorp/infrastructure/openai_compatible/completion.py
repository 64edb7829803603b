"""One call of ``/chat/completions`` that is not streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeGuard

from ragcorp.domain.exceptions import AnswererUnavailableError, SourceUnavailableError
from ragcorp.domain.ports.observers import TokenObserver, TokenObservers
from ragcorp.infrastructure.network.egress import REFUSED, reason_of_status, was_refused
from ragcorp.infrastructure.openai_compatible.client import Endpoint, make_client

if TYPE_CHECKING:
    from openai import APIError
    from openai.types.chat import ChatCompletionMessageParam

BAD_RESPONSES = (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
"""Errors of reading an unexpected body: the client checks no types."""

CHARACTERS_PER_TOKEN = 3
"""An estimate for European languages; current models have 3 to 4.5."""

MOST_TOKENS = 2**31
"""No call uses as many: a server's report of more is ignored."""


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


class CallTokens:
    """Counts one call as the server reports it, else by its characters; notifies the observer when the block ends."""

    def __init__(self, messages: Sequence[ChatCompletionMessageParam], *, observer: TokenObserver) -> None:
        self._observer = observer
        self._prompt_characters = sum(len(str(message.get("content") or "")) for message in messages)
        self._completion_characters = 0
        self._reported: dict[str, int] | None = None
        self._began = self._refused = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._refused:
            usage = self.usage
            self._observer.tokens_used(prompt=usage["prompt_tokens"], completion=usage["completion_tokens"])

    def wrote(self, text: str) -> None:
        """Count text of the answer."""
        self._completion_characters += len(text)

    def reported(self, usage: object) -> None:
        """Use the counts of the server; None and nonsense are ignored."""
        prompt, completion = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        if _is_count(prompt) and _is_count(completion):
            self._reported = {"prompt_tokens": prompt, "completion_tokens": completion}

    def began(self) -> None:
        """Note that the server has accepted the call."""
        self._began = True

    def refused(self) -> None:
        """Note that the server did no work, unless it had accepted the call."""
        self._refused = not self._began

    @property
    def usage(self) -> Mapping[str, int]:
        if self._reported is not None:
            return self._reported
        return {
            "prompt_tokens": -(-self._prompt_characters // CHARACTERS_PER_TOKEN),
            "completion_tokens": -(-self._completion_characters // CHARACTERS_PER_TOKEN),
        }


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS


@contextmanager
def translated(unavailable: Callable[[str], SourceUnavailableError], call: CallTokens | None = None) -> Iterator[None]:
    """Raise ``unavailable(reason)`` for errors of the client; ``call`` learns whether the server did no work."""
    import openai

    try:
        yield
    except TimeoutError:
        raise unavailable("timeout") from None
    except openai.APIError as error:
        if call is not None and not _did_work(error):
            call.refused()
        raise unavailable(_reason_of(error)) from None
    except BAD_RESPONSES:
        raise unavailable("bad_response") from None


def _did_work(error: APIError) -> bool:
    """Return whether a server that failed may have used tokens: not if it refused or was unreachable."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return True
    return not isinstance(error, openai.APIStatusError | openai.APIConnectionError)


def _reason_of(error: APIError) -> str:
    import openai

    match error:
        case openai.APITimeoutError():
            return "timeout"
        case openai.APIConnectionError():
            return REFUSED if was_refused(error) else "unreachable"
        case openai.APIStatusError():
            return reason_of_status(error.status_code, not_found="model_not_found")
        case _:
            return "bad_response"
