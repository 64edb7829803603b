"""Who may work now: a bounded number at once, the others by turns of keys, for a bounded while."""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from ragcorp.domain.exceptions import BusyError

Key = str | None
"""Whose request it is: the id of a key; None is the local user, who is there only while no key is."""


def share_of(places: int) -> int:
    """Return how many of ``places`` one key may hold: a quarter of them, and one at least, are left for others."""
    return max(1, places - max(1, places // 4))


class Admission:
    """``places`` work at once, ``most_waiting`` wait, each at most ``wait_seconds``.

    A place that becomes free goes to the keys that wait, one after another, and within a key to the request that waits
    longest. A key holds no more than ``share_of(places)``, so that another's request finds a place though it floods the
    service; the local user, who meets no key, may hold all. Where the queue is full, a key with fewer requests in it
    takes the turn of the newest request of the key with the most.
    """

    def __init__(self, *, places: int, wait_seconds: float, most_waiting: int) -> None:
        self._free = places
        self._places = places
        self._share = share_of(places)
        self._wait_seconds = wait_seconds
        self._most_waiting = most_waiting
        self._held: Counter[Key] = Counter()
        self._waiting: dict[Key, deque[asyncio.Future[bool]]] = {}  # by key, whose turn is next first; none is empty
        self._waiting_in_all = 0

    @property
    def taken(self) -> int:
        """How many places are taken."""
        return self._places - self._free

    @property
    def waiting(self) -> int:
        return self._waiting_in_all

    def enter_at_once(self, key: Key = None) -> bool:
        """Take a place if one is free for the key: then none of its requests waits, since ``leave`` gives it to them.

        Whoever waits while a place is free has its share.
        """
        if self._free and self._may_hold_more(key):
            self._take(key)
            return True
        return False

    async def enter(self, key: Key = None, *, wait_seconds: float | None = None) -> None:
        """Take a place; whoever has one calls ``leave`` once. Raises BusyError where none becomes free in time.

        A task that is cancelled here, however late, holds no place.
        """
        if self.enter_at_once(key):
            return
        self._make_room(key)
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(turn)
        self._waiting_in_all += 1
        try:
            await asyncio.wait({turn}, timeout=self._wait_seconds if wait_seconds is None else wait_seconds)
        except BaseException:
            if not turn.done():
                self._withdraw(key, turn)
            elif turn.result():
                self.leave(key)  # the place had come, and nobody takes it
            raise
        if not turn.done():
            self._withdraw(key, turn)
            raise BusyError
        if not turn.result():
            raise BusyError

    def leave(self, key: Key = None) -> None:
        """Give a place to whoever's turn it is."""
        self._free += 1
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]
        for waiting, turns in self._waiting.items():
            if self._may_hold_more(waiting):
                self._take(waiting)
                turns.popleft().set_result(True)
                self._waiting_in_all -= 1
                del self._waiting[waiting]
                if turns:
                    self._waiting[waiting] = turns  # behind the others
                return

    def _may_hold_more(self, key: Key) -> bool:
        return key is None or self._held[key] < self._share

    def _take(self, key: Key) -> None:
        self._free -= 1
        self._held[key] += 1

    def _make_room(self, key: Key) -> None:
        """Raises BusyError where the queue is full, and nobody has more requests in it than the key would have."""
        if self._waiting_in_all < self._most_waiting:
            return
        longest = max(self._waiting, key=lambda each: len(self._waiting[each]), default=key)
        if len(self._waiting.get(longest, ())) <= len(self._waiting.get(key, ())) + 1:
            raise BusyError
        newest = self._waiting[longest][-1]
        self._withdraw(longest, newest)
        newest.set_result(False)

    def _withdraw(self, key: Key, turn: asyncio.Future[bool]) -> None:
        turns = self._waiting[key]
        turns.remove(turn)
        self._waiting_in_all -= 1
        if not turns:
            del self._waiting[key]
