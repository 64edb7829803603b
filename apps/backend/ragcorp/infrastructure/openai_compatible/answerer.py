"""The port Answerer over any OpenAI-compatible ``/chat/completions``, streamed."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from ragcorp.domain.answers import AnswerDelta, AnswerEvent, AnswerFinished, AnswerPrompt
from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.infrastructure.openai_compatible.client import Endpoint, make_client, reason_of
from ragcorp.infrastructure.openai_compatible.prompt import ABSTAIN, chat_messages

COMPLETE = frozenset({"stop", "length"})


class OpenAIAnswerer:
    """Writes from the passages and cites them as [n]; abstains by a fixed word that never reaches the reader."""

    name = "openai"

    def __init__(self, *, endpoint: Endpoint, model: str, max_tokens: int = 800) -> None:
        self._client = make_client(endpoint)
        self._model = model
        self._max_tokens = max_tokens

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        """Yield the text as it comes. Raises AnswererUnavailableError, also for a stream that ends without a reason."""
        import openai

        held = ""
        abstained = started = False
        finish_reason: str | None = None
        usage: dict[str, int] = {}
        try:
            async with await self._client.chat.completions.create(
                model=self._model,
                messages=chat_messages(prompt),
                max_tokens=self._max_tokens,
                temperature=0,
                stream=True,
                stream_options={"include_usage": True},
            ) as stream:
                async for part in stream:
                    if part.usage is not None:
                        usage = {
                            "prompt_tokens": part.usage.prompt_tokens,
                            "completion_tokens": part.usage.completion_tokens,
                        }
                    for choice in part.choices[:1]:
                        finish_reason = choice.finish_reason or finish_reason
                        held += choice.delta.content or ""
                    # hold the first letters back until they cannot be the word of abstention
                    if not started and ABSTAIN.startswith(held.lstrip()[: len(ABSTAIN)]):
                        abstained = held.lstrip().startswith(ABSTAIN)
                        continue
                    started = True
                    if held and not abstained:
                        yield AnswerDelta(text=held)
                    held = ""
        except openai.APIError as error:
            raise _unavailable(reason_of(error)) from error
        except (ValueError, TypeError, AttributeError) as error:
            raise _unavailable("bad_response") from error
        if finish_reason not in COMPLETE:
            raise _unavailable("cut")
        if held and not abstained:
            yield AnswerDelta(text=held)
        yield AnswerFinished(abstained=abstained, usage=usage)

    async def aclose(self) -> None:
        await self._client.close()


def _unavailable(reason: str) -> AnswererUnavailableError:
    return AnswererUnavailableError(
        "The language model gave no usable answer.",
        reason=reason,
        remedy="Try again; check OPENAI_BASE_URL, OPENAI_API_KEY and ANSWER_MODEL if this lasts.",
    )
