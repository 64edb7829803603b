"""Tells whoever watches the caches of vectors; a library has nobody."""

from __future__ import annotations

from ragcorp.domain.embedding_cache import CacheName, CacheOutcome
from ragcorp.domain.ports.observers import EmbeddingCacheObserver


class EmbeddingCacheObservers:
    """Any number of observers as one. They come after the caches are wired, with the interface that counts."""

    def __init__(self) -> None:
        self._observers: list[EmbeddingCacheObserver] = []

    def add(self, observer: EmbeddingCacheObserver) -> None:
        self._observers.append(observer)

    def vectors_served(self, cache: CacheName, outcome: CacheOutcome, *, count: int = 1) -> None:
        for observer in self._observers:
            observer.vectors_served(cache, outcome, count=count)
