"""Overlaps the making of items with their use."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

Item = TypeVar("Item")


async def one_ahead(items: AsyncGenerator[Item], *, alone: Callable[[Item], bool]) -> AsyncGenerator[Item]:
    """Yield the items in order, and have the next one made while the caller uses one, unless that is ``alone``.

    An error of ``items`` is raised in its place: after the items before it. At the end what is being made is cancelled.
    """
    async with aclosing(items):
        making = asyncio.create_task(_next(items))
        try:
            while made := await making:
                (item,) = made
                by_itself = alone(item)
                if not by_itself:
                    making = asyncio.create_task(_next(items))
                yield item
                if by_itself:
                    making = asyncio.create_task(_next(items))
        finally:
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)


async def _next(items: AsyncGenerator[Item]) -> tuple[Item] | None:
    async for item in items:
        return (item,)
    return None
