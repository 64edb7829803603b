"""Fans observations out to any number of observers; none by default."""

from __future__ import annotations

from ragcorp.domain.embeddings import CacheName, CacheOutcome
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, TokenObserver


class TokenObservers:
    """Any number of observers as one. They come after the models are wired, with the interface that counts."""

    def __init__(self) -> None:
        self._observers: list[TokenObserver] = []

    def add(self, observer: TokenObserver) -> None:
        self._observers.append(observer)

    def tokens_used(self, *, prompt: int, completion: int) -> None:
        for observer in self._observers:
            observer.tokens_used(prompt=prompt, completion=completion)


class EmbeddingCacheObservers:
    """Any number of observers as one. They come after the caches are wired, with the interface that counts."""

    def __init__(self) -> None:
        self._observers: list[EmbeddingCacheObserver] = []

    def add(self, observer: EmbeddingCacheObserver) -> None:
        self._observers.append(observer)

    def vectors_served(self, cache: CacheName, outcome: CacheOutcome, *, count: int = 1) -> None:
        for observer in self._observers:
            observer.vectors_served(cache, outcome, count=count)
