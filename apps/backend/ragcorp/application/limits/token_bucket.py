"""Rates: a bucket of tokens for each key, refilled with time (a "leaky bucket as a meter", ITU-T I.371)."""

from cachetools import LRUCache

MOST_KEYS = 10_000
"""Above this the least recently used bucket is dropped; it starts full when its key returns."""


class TokenBuckets:
    """One bucket per key: ``burst`` requests at once, then ``per_minute``. ``now`` is in monotonic seconds."""

    def __init__(self, *, per_minute: int, burst: int) -> None:
        self._per_second = per_minute / 60
        self._burst = float(burst)
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(maxsize=MOST_KEYS)

    def take(self, key: str, *, now: float) -> float:
        """Take one token and return 0.0; without one, return the seconds until there is one."""
        tokens, at = self._buckets.get(key, (self._burst, now))
        # a clock that goes backwards changes nothing
        tokens = min(self._burst, tokens + max(0.0, now - at) * self._per_second)
        short = max(0.0, 1.0 - tokens)
        self._buckets[key] = (tokens if short else tokens - 1.0, now)
        return short / self._per_second
