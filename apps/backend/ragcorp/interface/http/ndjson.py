"""Lines of a body that streams in."""

from __future__ import annotations

from collections.abc import AsyncIterator


async def lines(chunks: AsyncIterator[bytes], *, limit: int) -> AsyncIterator[bytes | None]:
    """Yield each line without its end, and None for a line of more than ``limit`` bytes, which is never held whole."""
    held = bytearray()
    overlong = False
    async for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            held += chunk[start:end]
            yield None if overlong or len(held) > limit else bytes(held)
            held.clear()
            overlong = False
            start = end + 1
        held += chunk[start:]
        if len(held) > limit:
            held.clear()
            overlong = True
    if held or overlong:
        yield None if overlong else bytes(held)
