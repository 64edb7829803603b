"""Waits for work that must complete."""

from __future__ import annotations

import asyncio
from typing import Any


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
