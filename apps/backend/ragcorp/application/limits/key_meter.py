"""Meters each key: its rate and its open requests."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from ragcorp.application.limits.token_bucket import TokenBuckets
from ragcorp.domain.keys import TooManyRequestsError

RETRY_SECONDS = 1.0
"""Retry-After for a key at its limit of open requests."""


class KeyMeter(Protocol):
    """Meters the requests of keys in this process, or in all processes of a service."""

    async def enter(self, key: str) -> None:
        """Count a request as open. Raises TooManyRequestsError above the key's rate or number of open requests."""

    def leave(self, key: str) -> None:
        """Count a request that entered as ended."""


class KeyCounts:
    """A KeyMeter that counts by itself: ``concurrency`` open requests, and a bucket's rate (0: any)."""

    def __init__(
        self, *, per_minute: int, burst: int, concurrency: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute = per_minute
        self._concurrency = concurrency
        self._buckets = TokenBuckets(per_minute=per_minute, burst=burst) if per_minute else None
        self._clock = clock
        self._open: Counter[str] = Counter()

    async def enter(self, key: str) -> None:
        if self._open[key] >= self._concurrency:
            raise TooManyRequestsError(
                "The key has too many requests open.",
                reason="concurrency",
                retry_after_seconds=RETRY_SECONDS,
                limit=f"{self._concurrency} at once",
                remedy="Wait for one to end, or raise KEY_CONCURRENCY.",
            )
        wait = self._buckets.take(key, now=self._clock()) if self._buckets else 0.0
        if wait:
            raise TooManyRequestsError(
                "The key sends too many requests.",
                reason="rate",
                retry_after_seconds=wait,
                limit=f"{self._per_minute} a minute",
                remedy="Wait as Retry-After says, or raise RATE_LIMIT_PER_MINUTE.",
            )
        self._open[key] += 1

    def leave(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]
