"""Tokens used by one call of a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeGuard

from ragcorp.domain.ports.observers import TokenObserver

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

CHARACTERS_PER_TOKEN = 3
"""An estimate for European languages; current models have 3 to 4.5."""

MOST_TOKENS = 2**31
"""No call uses as many: a server's report of more is ignored."""


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
