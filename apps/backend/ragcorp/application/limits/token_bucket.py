"""Rates: a bucket of tokens for each key, refilled with time (a "leaky bucket as a meter", ITU-T I.371)."""

from __future__ import annotations

from collections import OrderedDict

MOST_KEYS = 10_000
"""A bucket that was used longest ago is forgotten: by then it is full again, or there are that many busy keys."""


class TokenBuckets:
    """One bucket a key: ``burst`` requests at once, then ``per_minute`` a minute. ``now`` is an argument: monotonic s.

    A bucket that is forgotten starts full.
    """

    def __init__(self, *, per_minute: int, burst: int) -> None:
        self._per_second = per_minute / 60
        self._burst = float(burst)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, *, now: float) -> float:
        """Take one token and return 0.0; where there is none, take nothing and return the seconds until there is."""
        tokens, at = self._buckets.get(key, (self._burst, now))
        # a clock that went backwards gives nothing and takes nothing
        tokens = min(self._burst, tokens + max(0.0, now - at) * self._per_second)
        short = max(0.0, 1.0 - tokens)
        self._buckets[key] = (tokens if short else tokens - 1.0, now)
        self._buckets.move_to_end(key)
        if len(self._buckets) > MOST_KEYS:
            self._buckets.popitem(last=False)
        return short / self._per_second
