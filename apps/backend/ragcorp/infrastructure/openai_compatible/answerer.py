"""The port Answerer over any OpenAI-compatible ``/chat/completions``, streamed."""

from collections.abc import AsyncGenerator

from ragcorp.domain.answers import AnswerDelta, AnswerEvent, AnswerFinished, AnswerPrompt
from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.domain.ports.observers import TokenObserver, TokenObservers
from ragcorp.infrastructure.openai_compatible.client import Endpoint, make_client
from ragcorp.infrastructure.openai_compatible.completion import CallTokens, translated
from ragcorp.infrastructure.openai_compatible.prompt import ABSTAIN, chat_messages

CUT_SHORT = " …"
"""Ending of an answer that reached the token limit."""

CHARACTERS_PER_TOKEN = 20
"""Upper bound for any language: a server that sends more ignores ``max_tokens``."""


class OpenAIAnswerer:
    """Answers from passages and cites them as [n]; abstains by a fixed word, which is not passed on.

    An answer ends with ``stop`` or at the token limit (``length``); any other end, or none, is a failure.
    """

    name = "openai"

    def __init__(
        self, *, endpoint: Endpoint, model: str, max_tokens: int = 800, tokens: TokenObserver | None = None
    ) -> None:
        self._client = make_client(endpoint)
        self._model = model
        self._max_tokens = max_tokens
        self._tokens = tokens or TokenObservers()

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        """Yield the text as it comes. Raises AnswererUnavailableError, also for a stream that ends without a reason."""
        messages = chat_messages(prompt)
        pending = ""
        abstained = started = False
        finish_reason: str | None = None
        room = self._max_tokens * CHARACTERS_PER_TOKEN
        with CallTokens(messages, observer=self._tokens) as call, translated(_unavailable, call):
            async with await self._client.chat.completions.create(
                model=self._model,
                messages=messages,
                max_tokens=self._max_tokens,
                temperature=0,
                stream=True,
                stream_options={"include_usage": True},
            ) as stream:
                call.began()
                async for part in stream:
                    call.reported(part.usage)
                    for choice in part.choices[:1]:
                        finish_reason = choice.finish_reason or finish_reason
                        text = choice.delta.content or ""
                        pending += text
                        call.wrote(text)
                        room -= len(text)
                    if room < 0:
                        raise _unavailable("too_long")
                    # buffer the first letters until they cannot begin the abstention word
                    if not started and ABSTAIN.startswith(pending.lstrip()[: len(ABSTAIN)]):
                        abstained = pending.lstrip().startswith(ABSTAIN)
                        continue
                    started = True
                    if pending and not abstained:
                        yield AnswerDelta(text=pending)
                    pending = ""
            if finish_reason not in ("stop", "length"):
                raise _unavailable(_reason_of_end(finish_reason))
            if finish_reason == "length" and not abstained:
                pending += CUT_SHORT
            if pending and not abstained:
                yield AnswerDelta(text=pending)
            yield AnswerFinished(abstained=abstained, usage=call.usage)

    async def aclose(self) -> None:
        await self._client.close()


def _reason_of_end(finish_reason: object) -> str:
    """Return the reason for an unexpected end. A tool call is a bad response: no tool was offered."""
    if finish_reason is None:
        return "cut"
    return "filtered" if finish_reason == "content_filter" else "bad_response"


def _unavailable(reason: str) -> AnswererUnavailableError:
    return AnswererUnavailableError(
        "The language model gave no usable answer.",
        reason=reason,
        remedy="Try again; check OPENAI_BASE_URL, OPENAI_API_KEY and ANSWER_MODEL if this lasts.",
    )
