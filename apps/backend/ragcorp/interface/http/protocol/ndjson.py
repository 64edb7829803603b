"""Splits a streamed body into lines."""

from codecs import BOM_UTF8
from collections.abc import AsyncIterator


async def lines(chunks: AsyncIterator[bytes], *, limit: int) -> AsyncIterator[bytes | None]:
    """Yield each line without its end; None for one above ``limit`` bytes, which is never kept whole.

    A byte order mark before the first line is removed.
    """
    first = True
    async for line in _lines(chunks, limit=limit):
        yield line.removeprefix(BOM_UTF8) if first and line is not None else line
        first = False


async def _lines(chunks: AsyncIterator[bytes], *, limit: int) -> AsyncIterator[bytes | None]:
    buffer = bytearray()
    overlong = False
    async for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            buffer += chunk[start:end]
            yield None if overlong or len(buffer) > limit else bytes(buffer)
            buffer.clear()
            overlong = False
            start = end + 1
        buffer += chunk[start:]
        if len(buffer) > limit:
            buffer.clear()
            overlong = True
    if buffer or overlong:
        yield None if overlong else bytes(buffer)
