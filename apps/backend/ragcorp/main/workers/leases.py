"""The limits of all workers, which the supervisor counts: what a worker has taken, and how a worker asks for it."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from ragcorp.application.limits.slot_limiter import Key, Slots
from ragcorp.domain.exceptions import BusyError
from ragcorp.domain.keys import KeyLimit, TooManyRequestsError
from ragcorp.infrastructure.process_channel.channel import Channel, ChannelClosedError
from ragcorp.interface.http.layers.admission import Limiters

SLOTS = ("requests", "parts", "uploads", "streams")

OPEN_REQUESTS = "open requests"

Refusal = tuple[str, str, float, str | None, str | None]
"""Fields of a TooManyRequestsError: message, reason, seconds until a retry, limit and remedy."""


class Leases:
    """Slots and open requests that one worker has taken from the limiters of all, by numbers that the worker gives.

    A lease that is still being waited for is cancelled by its release.
    """

    def __init__(self, limiters: Limiters) -> None:
        self._limiters = limiters
        self._returns: dict[int, Callable[[], None]] = {}
        self._waiting: dict[int, asyncio.Task[Any]] = {}

    async def acquire(self, lease: int, slots: str, key: Key, wait_seconds: float | None, tries: bool) -> bool:
        """Take a slot of ``slots`` and return True; return False if none is free, or becomes free in time."""
        limiter: Slots = getattr(self._limiters, slots)
        if tries:
            granted = await limiter.try_acquire(key)
        else:
            self._waiting[lease] = cast("asyncio.Task[Any]", asyncio.current_task())
            try:
                await limiter.acquire(key, wait_seconds=wait_seconds)
                granted = True
            except BusyError:
                granted = False
            finally:
                del self._waiting[lease]
        if granted:
            self._returns[lease] = partial(limiter.release, key)
        return granted

    async def enter(self, lease: int, key: str) -> Refusal | None:
        """Count an open request of the key, or return why it is refused."""
        try:
            await self._limiters.keys.enter(key)
        except TooManyRequestsError as error:
            return error.message, error.reason, error.retry_after_seconds, error.limit, error.remedy
        self._returns[lease] = partial(self._limiters.keys.leave, key)
        return None

    def release(self, lease: int) -> None:
        if lease in self._waiting:
            self._waiting[lease].cancel()
        elif lease in self._returns:
            self._returns.pop(lease)()

    def release_all(self) -> None:
        """Return everything: the worker has ended."""
        for lease in (*self._waiting, *self._returns):
            self.release(lease)


class LeaseBook:
    """A worker's leases. Any lease of a purpose, such as a key's slot, is as good as another."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = itertools.count(1)
        self._leases: defaultdict[tuple[str, Key], list[int]] = defaultdict(list)

    async def call(self, name: str, *arguments: object) -> tuple[int, Any]:
        """Return a new lease and the supervisor's answer; a cancelled call takes nothing. Raises BusyError."""
        lease = next(self._numbers)
        try:
            return lease, await self._channel.call(name, lease, *arguments)
        except asyncio.CancelledError:
            self._channel.tell("release", lease)
            raise
        except ChannelClosedError:  # this worker is about to stop
            raise BusyError from None

    def keep(self, lease: int, *, purpose: str, key: Key) -> None:
        self._leases[purpose, key].append(lease)

    def release(self, *, purpose: str, key: Key) -> None:
        leases = self._leases[purpose, key]
        self._channel.tell("release", leases.pop())
        if not leases:
            del self._leases[purpose, key]

    def limiters(self, on_busy: Callable[[], None]) -> Limiters:
        """Return the limiters of all workers; ``on_busy`` runs for each refusal of a slot."""
        requests, parts, uploads, streams = (LeasedSlots(self, name, on_busy) for name in SLOTS)
        return Limiters(requests=requests, parts=parts, uploads=uploads, streams=streams, keys=LeasedKeys(self))


class LeasedSlots:
    """Slots of all workers; ``taken`` and ``waiting`` are this worker's."""

    def __init__(self, book: LeaseBook, name: str, on_busy: Callable[[], None]) -> None:
        self._book = book
        self._name = name
        self._on_busy = on_busy
        self.taken = self.waiting = 0

    async def try_acquire(self, key: Key = None) -> bool:
        return await self._acquired(key, None, tries=True)

    async def acquire(self, key: Key = None, *, wait_seconds: float | None = None) -> None:
        self.waiting += 1
        try:
            granted = await self._acquired(key, wait_seconds, tries=False)
        finally:
            self.waiting -= 1
        if not granted:
            self._on_busy()
            raise BusyError

    def release(self, key: Key = None) -> None:
        self.taken -= 1
        self._book.release(purpose=self._name, key=key)

    async def _acquired(self, key: Key, wait_seconds: float | None, *, tries: bool) -> bool:
        lease, granted = await self._book.call("acquire", self._name, key, wait_seconds, tries)
        if granted:
            self.taken += 1
            self._book.keep(lease, purpose=self._name, key=key)
        return bool(granted)


class LeasedKeys:
    """Counts a key's requests over all workers."""

    def __init__(self, book: LeaseBook) -> None:
        self._book = book

    async def enter(self, key: str) -> None:
        lease, refusal = await self._book.call("enter", key)
        if refusal is not None:
            message, reason, seconds, limit, remedy = refusal
            raise TooManyRequestsError(
                message, reason=cast("KeyLimit", reason), retry_after_seconds=seconds, limit=limit, remedy=remedy
            )
        self._book.keep(lease, purpose=OPEN_REQUESTS, key=key)

    def leave(self, key: str) -> None:
        self._book.release(purpose=OPEN_REQUESTS, key=key)
