"""Single flight: callers that want the same thing at the same time share one call and its outcome."""

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class Flight(Generic[Key, Result]):
    """A running call for ``keys``; ``task`` has its outcome."""

    keys: Collection[Key]
    task: asyncio.Task[Result] = field(init=False)
    waiting: int = 0


AnyFlight = TypeVar("AnyFlight", bound=Flight[Any, Any])


class SingleFlight(Generic[Key, AnyFlight]):
    """Running calls by key: join ``running`` ones, start the rest, await ``ended``, without other awaits between."""

    def __init__(self) -> None:
        self._flights: dict[Key, AnyFlight] = {}

    def running(self, keys: Iterable[Key]) -> dict[Key, AnyFlight]:
        """Return the call of each key that has one which has not ended."""
        flights = {key: self._flights[key] for key in keys if key in self._flights}
        return {key: flight for key, flight in flights.items() if not flight.task.done()}

    def start(self, flight: AnyFlight, work: Coroutine[Any, Any, Any]) -> AnyFlight:
        flight.task = asyncio.create_task(work)
        flight.task.add_done_callback(lambda _: self._remove(flight))
        self._flights |= dict.fromkeys(flight.keys, flight)
        return flight

    async def ended(self, flights: Collection[AnyFlight]) -> None:
        """Wait until the calls have ended, whatever their outcome. The last cancelled caller cancels the call."""
        for flight in flights:
            flight.waiting += 1
        try:
            await asyncio.wait([flight.task for flight in flights])
        finally:
            for flight in flights:
                flight.waiting -= 1
                if flight.waiting == 0 and not flight.task.done():
                    self._remove(flight)
                    flight.task.cancel()

    def _remove(self, flight: AnyFlight) -> None:
        for key in flight.keys:
            if self._flights.get(key) is flight:
                del self._flights[key]
        if flight.task.done() and not flight.task.cancelled():
            flight.task.exception()  # retrieved: all who waited may have left
