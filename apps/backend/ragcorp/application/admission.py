"""Who may work now: a bounded number at once, the others in order of arrival, for a bounded while."""

from __future__ import annotations

import asyncio
from collections import deque

from ragcorp.domain.exceptions import BusyError


class Admission:
    """``places`` work at once, ``most_waiting`` wait, each at most ``wait_seconds``."""

    def __init__(self, *, places: int, wait_seconds: float, most_waiting: int) -> None:
        self._free = places
        self._places = places
        self._wait_seconds = wait_seconds
        self._most_waiting = most_waiting
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def taken(self) -> int:
        """How many places are taken."""
        return self._places - self._free

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def enter_at_once(self) -> bool:
        """Take a place if one is free: then nobody waits, since ``leave`` gives it to whoever does."""
        if self._free:
            self._free -= 1
            return True
        return False

    async def enter(self, *, wait_seconds: float | None = None) -> None:
        """Take a place; whoever has one calls ``leave`` once. Raises BusyError where none becomes free in time.

        A task that is cancelled here, however late, holds no place.
        """
        if self.enter_at_once():
            return
        if len(self._waiting) >= self._most_waiting:
            raise BusyError
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await asyncio.wait({turn}, timeout=self._wait_seconds if wait_seconds is None else wait_seconds)
        except BaseException:
            if turn.done():
                self.leave()  # the place had come, and nobody takes it
            else:
                self._waiting.remove(turn)
            raise
        if not turn.done():
            self._waiting.remove(turn)
            raise BusyError

    def leave(self) -> None:
        """Give a place to whoever waits longest."""
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._free += 1
