"""Fans observations out to any number of observers; none by default."""

from __future__ import annotations

from typing import Generic, TypeVar

from ragcorp.domain.embeddings import CacheName, CacheOutcome
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, TokenObserver

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
