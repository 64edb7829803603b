"""Concurrency limiter: N slots, one FIFO queue, bounded waits and a cap per key."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

from ragcorp.domain.exceptions import BusyError

Key = str | None
"""The id of a caller's key; None is the local user, who exists only while there are no keys."""


class Slots(Protocol):
    """Slots of this process, or of all processes of a service."""

    @property
    def taken(self) -> int:
        """Slots that this process uses."""

    @property
    def waiting(self) -> int:
        """Requests of this process in the queue."""

    async def try_acquire(self, key: Key = None) -> bool:
        """Take a slot if one is free for the key."""

    async def acquire(self, key: Key = None, *, wait_seconds: float | None = None) -> None:
        """Take a slot. Raises BusyError where none becomes free in time; a cancelled task gets no slot."""

    def release(self, key: Key = None) -> None:
        """Return a slot."""


def share_of(total: int) -> int:
    """Return how many of ``total`` one key may use: all but a quarter, at least one."""
    return max(1, total - max(1, total // 4))


class SlotLimiter:
    """Grants ``slots`` at once; up to ``max_waiting`` requests wait ``wait_seconds`` each for one.

    A key uses at most ``share_of(slots)`` slots and ``share_of(max_waiting)`` places of the queue, so that a flood of
    one key leaves room for others; the local user has no such cap. A free slot goes to the request that waits longest
    among those whose key may use one more. ``on_busy`` runs for each refusal.
    """

    def __init__(
        self, *, slots: int, wait_seconds: float = 0.0, max_waiting: int = 0, on_busy: Callable[[], None] = lambda: None
    ) -> None:
        self._slots = slots
        self._wait_seconds = wait_seconds
        self._max_waiting = max_waiting
        self._on_busy = on_busy
        self._used: Counter[Key] = Counter()
        self._used_in_all = 0
        self._queue: deque[tuple[Key, asyncio.Future[None]]] = deque()

    @property
    def taken(self) -> int:
        """Slots in use."""
        return self._used_in_all

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._queue)

    async def try_acquire(self, key: Key = None) -> bool:
        return self._take(key)

    async def acquire(self, key: Key = None, *, wait_seconds: float | None = None) -> None:
        if self._take(key):
            return
        if not self._may_wait(key):
            raise self._busy()
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((key, granted))
        try:
            async with asyncio.timeout(self._wait_seconds if wait_seconds is None else wait_seconds):
                await granted
        except BaseException as error:
            if (key, granted) in self._queue:
                self._queue.remove((key, granted))
            else:
                self.release(key)  # granted in the same moment
            if isinstance(error, TimeoutError):
                raise self._busy() from None
            raise

    def release(self, key: Key = None) -> None:
        """Return a slot, and grant it to the next request in the queue."""
        self._used[key] -= 1
        self._used_in_all -= 1
        if not self._used[key]:
            del self._used[key]
        for waiter in self._queue:
            key, granted = waiter
            if not granted.done() and self._take(key):  # a cancelled waiter leaves the queue when its task runs
                self._queue.remove(waiter)
                granted.set_result(None)
                return

    def _take(self, key: Key) -> bool:
        """Take a free slot. A request that waits while a slot is free has a key at its cap."""
        if self._used_in_all >= self._slots or not self._below_cap(key):
            return False
        self._used[key] += 1
        self._used_in_all += 1
        return True

    def _below_cap(self, key: Key) -> bool:
        return key is None or self._used[key] < share_of(self._slots)

    def _may_wait(self, key: Key) -> bool:
        if len(self._queue) >= self._max_waiting:
            return False
        return key is None or sum(waiting == key for waiting, _ in self._queue) < share_of(self._max_waiting)

    def _busy(self) -> BusyError:
        self._on_busy()
        return BusyError()
