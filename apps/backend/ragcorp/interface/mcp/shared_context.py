"""Keeps a context manager open in one task, for many users."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from ragcorp.application.resilience.time_bound import wait_to_end

Value = TypeVar("Value")


class SharedContext(Generic[Value]):
    """A context manager that one task enters and leaves for other tasks. A failed opening is tried again."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Value]], *, name: str) -> None:
        self._opened = opened
        self._name = name
        self._value: asyncio.Future[Value] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def start(self) -> None:
        """Begin to open, unless it is open or opening."""
        if self._closing.is_set() or not (self._task is None or self._task.done()):
            return
        self._value = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(self._value), name=self._name)

    async def value(self) -> Value:
        """Return the value once it is open. Raises what opening raised, and RuntimeError after closing."""
        self.start()
        if self._value is None or self._closing.is_set():
            raise RuntimeError(f"{self._name} is closed")
        return await asyncio.shield(self._value)

    async def aclose(self) -> None:
        """Leave the context and wait for it, also when cancelled; cancel an opening that still runs."""
        self._closing.set()
        task, value = self._task, self._value
        if task is None or value is None:
            return
        if not value.done():
            task.cancel()
        await wait_to_end(task)
        if not task.cancelled():
            task.result()

    async def _run(self, value: asyncio.Future[Value]) -> None:
        try:
            async with self._opened() as opened:
                value.set_result(opened)
                await self._closing.wait()
        except asyncio.CancelledError:
            value.cancel()
            raise
        except Exception as error:
            if value.done():
                raise
            value.set_exception(error)
            value.exception()  # retrieved, so that asyncio does not report it
