"""Counts language model tokens per key and day, and refuses keys over their budget."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, date, datetime, time, timedelta

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.keys import TooManyRequestsError
from ragcorp.domain.ports.keys import TokenAccount, TokenUsageStore

logger = logging.getLogger(__name__)

ACCOUNT: ContextVar[TokenAccount | None] = ContextVar("ACCOUNT", default=None)
"""Account of the current request's tokens; None without a key."""

LAST_SECONDS = 5.0
"""Time at shutdown to write the last counts."""


class TokenBudget:
    """Counts tokens by key and UTC day in the background; refuses a key that used ``daily_tokens`` (0: none)."""

    def __init__(self, *, store: TokenUsageStore, daily_tokens: int, now: Callable[[], datetime]) -> None:
        self._store = store
        self._daily_tokens = daily_tokens
        self._now = now
        self._unsaved: Counter[tuple[TokenAccount, date]] = Counter()
        self._saving: Counter[tuple[TokenAccount, date]] = Counter()
        self._task: asyncio.Task[None] | None = None

    def tokens_used(self, *, prompt: int, completion: int) -> None:
        """Count a call for the key of the current request."""
        account = ACCOUNT.get()
        if account is None or prompt + completion <= 0:
            return
        self._unsaved[account, self._today()] += prompt + completion
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._save_while_possible(), name="token usage")

    async def require(self) -> None:
        """Raise TooManyRequestsError without tokens left today, StorageUnavailableError if that is unknown."""
        account = ACCOUNT.get()
        if account is None or self._daily_tokens == 0:
            return
        today = self._today()
        used = await self._store.used(account, day=today)
        used += self._unsaved[account, today] + self._saving[account, today]
        if used >= self._daily_tokens:
            midnight = datetime.combine(today + timedelta(days=1), time.min, tzinfo=UTC)
            raise TooManyRequestsError(
                "The key has used its tokens of today.",
                reason="tokens",
                retry_after_seconds=(midnight - self._now()).total_seconds(),
                limit=f"{self._daily_tokens} tokens a day (UTC)",
                remedy="Ask again tomorrow, search without an answer, or raise DAILY_TOKEN_BUDGET.",
            )

    async def aclose(self) -> None:
        """Write the remaining counts."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=LAST_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._unsaved:
            try:
                async with asyncio.timeout(LAST_SECONDS):
                    await self._save()
            except (StorageUnavailableError, TimeoutError):
                logger.warning("%d tokens of keys were not written", self._unsaved.total())

    async def _save_while_possible(self) -> None:
        while self._unsaved:
            try:
                await self._save()
            except StorageUnavailableError as error:
                logger.warning("the tokens of keys wait for the database: %s", error.reason)
                return

    async def _save(self) -> None:
        self._saving, self._unsaved = self._unsaved, Counter()
        try:
            await self._store.add(self._saving)
        except BaseException:
            self._unsaved.update(self._saving)
            raise
        finally:
            self._saving = Counter()

    def _today(self) -> date:
        return self._now().astimezone(UTC).date()
