"""Waits for work that must not be left half done."""

from __future__ import annotations

import asyncio
from typing import Any


async def wait_to_end(work: asyncio.Future[Any]) -> None:
    """Return when ``work`` has ended, how ever it did. Cancelled meanwhile, it waits on, and raises CancelledError."""
    cancelled = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            cancelled = True
    if not cancelled:
        return
    if not work.cancelled():
        work.exception()  # nobody will ask for it now
    raise asyncio.CancelledError
