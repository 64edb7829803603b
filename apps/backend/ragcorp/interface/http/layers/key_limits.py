"""Rate and open requests of each key, counted in this process. Pure ASGI; the body is not read."""

import time
from collections import Counter
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from ragcorp.application.limits.token_bucket import TokenBuckets
from ragcorp.application.limits.token_budget import ACCOUNT
from ragcorp.domain.keys import TooManyRequestsError
from ragcorp.domain.ports.keys import TokenAccount
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.problems import problem_of
from ragcorp.interface.http.protocol.request_scope import caller_of

RETRY_SECONDS = 1.0
"""Retry-After for a key at its limit of open requests."""


class KeyLimits:
    """Answers 429 above a key's rate or concurrency, and sets the account of the request's language model tokens."""

    def __init__(
        self, app: ASGIApp, *, limits: HttpLimits, metrics: HttpMetrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._rate = limits.rate_limit_per_minute
        self._concurrency = limits.key_concurrency
        self._buckets = TokenBuckets(per_minute=self._rate, burst=limits.rate_limit_burst) if self._rate else None
        self._metrics = metrics
        self._clock = clock
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope)
        if caller.key_id is None:
            await self._app(scope, receive, send)
            return
        key = caller.key_id
        refused = self._refused(key)
        if refused is not None:
            self._metrics.count_refusal(refused.reason)
            await problem_of(refused)(scope, receive, send)
            return
        self._open[key] += 1
        account = ACCOUNT.set(TokenAccount(workspace=caller.principal.workspace, key_id=key))
        try:
            await self._app(scope, receive, send)
        finally:
            ACCOUNT.reset(account)
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    def _refused(self, key: str) -> TooManyRequestsError | None:
        if self._open[key] >= self._concurrency:
            return TooManyRequestsError(
                "The key has too many requests open.",
                reason="concurrency",
                retry_after_seconds=RETRY_SECONDS,
                limit=f"{self._concurrency} at once",
                remedy="Wait for one to end, or raise KEY_CONCURRENCY.",
            )
        wait = self._buckets.take(key, now=self._clock()) if self._buckets else 0.0
        if wait:
            return TooManyRequestsError(
                "The key sends too many requests.",
                reason="rate",
                retry_after_seconds=wait,
                limit=f"{self._rate} a minute",
                remedy="Wait as Retry-After says, or raise RATE_LIMIT_PER_MINUTE.",
            )
        return None
