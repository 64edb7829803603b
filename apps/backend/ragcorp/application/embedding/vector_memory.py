"""An in-memory cache of vectors."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Hashable

from cachetools import TTLCache

from ragcorp.domain.embeddings import Vector


class VectorMemory:
    """At most ``size`` vectors, each for ``ttl_seconds``; evicts the least recently used. Zero of either keeps none.

    A key identifies model, width and embedded text. For one event loop.
    """

    def __init__(self, *, size: int, ttl_seconds: float, timer: Callable[[], float] = time.monotonic) -> None:
        # eight bytes a number: a tuple takes 32
        self._vectors: TTLCache[Hashable, array[float]] | None = (
            TTLCache(maxsize=size, ttl=ttl_seconds, timer=timer) if size and ttl_seconds else None
        )

    def get(self, key: Hashable) -> Vector | None:
        vector = None if self._vectors is None else self._vectors.get(key)
        return None if vector is None else tuple(vector)

    def put(self, key: Hashable, vector: Vector) -> None:
        if self._vectors is not None:
            self._vectors[key] = array("d", vector)
