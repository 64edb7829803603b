"""Awaits work up to a deadline without waiting for its cancellation.

A database driver that is cancelled waits for its server to stop the statement: many seconds if the server hangs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_left: set[asyncio.Task[Any]] = set()
"""Cancelled tasks that have not ended: the event loop itself keeps no task alive."""


async def run_until(deadline: float, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result, or raise TimeoutError at the ``deadline`` on the loop's clock. Logs a failure after it."""
    return await _run(work, deadline - asyncio.get_running_loop().time(), log_failure=True)


async def run_within(seconds: float, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result, or raise TimeoutError after ``seconds``. Drops a failure after that."""
    return await _run(work, seconds, log_failure=False)


def leave_behind(task: asyncio.Task[Any], *, log_failure: bool = False) -> None:
    """Cancel a task without waiting. Drops its result; logs a later exception with ``log_failure``."""
    if task.done():
        _retrieved_error(task)
        return
    task.cancel()
    _left.add(task)

    def ended(_: asyncio.Task[Any]) -> None:
        _left.discard(task)
        error = _retrieved_error(task)
        if error is not None and log_failure:
            logger.warning("work that was left behind at its deadline failed", exc_info=error)

    task.add_done_callback(ended)


async def _run(work: Coroutine[Any, Any, Result], seconds: float, *, log_failure: bool) -> Result:
    task = asyncio.get_running_loop().create_task(work)
    try:
        await asyncio.wait([task], timeout=max(0.0, seconds))
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        leave_behind(task, log_failure=log_failure)


def _retrieved_error(task: asyncio.Task[Any]) -> BaseException | None:
    """Return the exception of a task that ended; asyncio logs one that nothing retrieves."""
    return None if task.cancelled() else task.exception()


async def wait_to_end(work: asyncio.Future[Any]) -> None:
    """Return when ``work`` has ended, whatever its outcome; if cancelled, raise CancelledError only then."""
    cancelled = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            cancelled = True
    if not cancelled:
        return
    if not work.cancelled():
        work.exception()  # retrieved: the caller gets CancelledError
    raise asyncio.CancelledError


async def run_together(work: Iterable[Awaitable[Result]]) -> list[Result]:
    """Return the results in order. The first error cancels the others, which are awaited, and is raised as itself."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
