"""Ports of observers, which return at once and raise nothing, and fan-out to any number of them."""

from typing import Generic, Protocol, TypeVar

from ragcorp.domain.embeddings import CacheName, CacheOutcome
from ragcorp.domain.search.rollout import Arm, ShadowOutcome


class RolloutObserver(Protocol):
    """Counts events of a roll-out."""

    def rollout_set(self, *, percent: float, shadow: bool) -> None:
        """Record the share of queries in the new arm, 0 to 100, and whether shadows run."""

    def arm_served(self, arm: Arm, *, profile: str) -> None: ...

    def shadow_ended(self, outcome: ShadowOutcome, *, overlap: float | None) -> None:
        """Count a shadow. ``overlap`` is overlap@10 in [0, 1], None without a comparison."""


class EmbeddingCacheObserver(Protocol):
    """Counts vectors by their origin."""

    def vectors_served(self, cache: CacheName, outcome: CacheOutcome, *, count: int = 1) -> None: ...


class AnswererObserver(Protocol):
    """Notes the outcome of answers."""

    def answered(self) -> None: ...

    def not_answered(self, reason: str) -> None:
        """Note an answer that failed with AnswererUnavailableError."""


class TokenObserver(Protocol):
    """Counts the tokens of language models."""

    def tokens_used(self, *, prompt: int, completion: int) -> None:
        """Count one call, however it ended, in the context (``contextvars``) of the request that caused it."""


Observer = TypeVar("Observer")


class Observers(Generic[Observer]):
    """Any number of observers as one; interfaces add theirs after the wiring."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []

    def add(self, observer: Observer) -> None:
        self._observers.append(observer)


class TokenObservers(Observers[TokenObserver]):
    def tokens_used(self, *, prompt: int, completion: int) -> None:
        for observer in self._observers:
            observer.tokens_used(prompt=prompt, completion=completion)


class EmbeddingCacheObservers(Observers[EmbeddingCacheObserver]):
    def vectors_served(self, cache: CacheName, outcome: CacheOutcome, *, count: int = 1) -> None:
        for observer in self._observers:
            observer.vectors_served(cache, outcome, count=count)
