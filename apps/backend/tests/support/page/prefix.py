"""A proxy that has the service below a path, as a reverse proxy does that strips a prefix."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

BLOCK = 65_536


@asynccontextmanager
async def below_a_prefix(url: str, prefix: str) -> AsyncIterator[str]:
    """Yield the address of ``url`` below ``prefix`` (``/rag``). What is not below it is answered with 404."""
    target = urlsplit(url)
    tasks: set[asyncio.Task[None]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await _one(reader, writer, target.hostname or "", target.port or 80, prefix)
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{prefix}/"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int, prefix: str) -> None:
    """Send one request on, and its response back; then the connection ends."""
    first, _, rest = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
    method, path, version = first.decode("latin-1").split(" ")
    if not path.startswith(f"{prefix}/"):
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        return
    upstream, to_server = await asyncio.open_connection(host, port)
    to_server.write(f"{method} {path.removeprefix(prefix)} {version}\r\nConnection: close\r\n".encode("latin-1"))
    to_server.write(b"\r\n".join(line for line in rest.split(b"\r\n") if not line.lower().startswith(b"connection:")))
    sending = asyncio.create_task(_pass(reader, to_server))
    try:
        await _pass(upstream, writer)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        to_server.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(BLOCK):
        writer.write(data)
        await writer.drain()
