"""A TCP proxy on the loopback that can be told, while it runs, to do to a connection what networks do."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

from psycopg.conninfo import conninfo_to_dict, make_conninfo

BLOCK = 65_536
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
POLL_SECONDS = 0.02


class Fault(StrEnum):
    """What happens to the bytes, on connections that stand and on new ones."""

    PASS = "pass"
    REFUSE = "refuse"
    """New connections are reset at once; those that stand are reset."""
    DROP = "drop"
    """As soon as the server answers, both ends are reset; new connections may come, and fare the same."""
    DELAY = "delay"
    """Each block of the server waits ``seconds`` first."""
    DRIP = "drip"
    """``amount`` bytes of the server pass each ``seconds``."""
    HANG = "hang"
    """Accepted, read, and nothing is ever said; nothing of the client reaches the server."""
    CORRUPT = "corrupt"
    """One bit of every ``amount``th byte of the server is flipped."""
    CUT = "cut"
    """After ``amount`` more bytes of the server, counted from the switch for each connection, both ends are reset."""


@dataclass(eq=False)
class FaultProxy:
    """Set ``fault`` (with ``seconds`` and ``amount``) by ``switch`` at any time; ``seen`` counts connections."""

    host: str
    port: int
    target: tuple[str, int]
    fault: Fault = Fault.PASS
    seconds: float = 0.0
    amount: int = 0
    seen: int = 0
    connections: set[Connection] = field(default_factory=set)

    def switch(self, fault: Fault, *, seconds: float = 0.0, amount: int = 0) -> None:
        self.fault, self.seconds, self.amount = fault, seconds, amount
        for connection in list(self.connections):
            connection.passed = 0
            if fault is Fault.REFUSE:
                connection.reset()

    def reset_all(self) -> None:
        """Reset what stands; new connections fare as ``fault`` says."""
        for connection in list(self.connections):
            connection.reset()

    def dsn(self, dsn: str) -> str:
        """Return the connection string that goes by this proxy (the password goes as it did)."""
        return make_conninfo(**(conninfo_to_dict(dsn) | {"host": self.host, "port": self.port, "hostaddr": None}))


@dataclass(eq=False)
class Connection:
    proxy: FaultProxy
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    passed: int = 0

    def reset(self) -> None:
        for writer in (self.client, self.server):
            _reset(writer)


@asynccontextmanager
async def fault_proxy(host: str, port: int) -> AsyncIterator[FaultProxy]:
    """Stand before ``host:port`` (a folder as ``host`` is PostgreSQL's socket in it) until the end of the block."""
    tasks: set[asyncio.Task[None]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await _serve(proxy, reader, writer)
        except asyncio.CancelledError:
            pass  # the proxy ends; the protocol would report a cancelled task as an error
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    listening = server.sockets[0].getsockname()
    proxy = FaultProxy(host=listening[0], port=listening[1], target=(host, port))
    try:
        yield proxy
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(proxy: FaultProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    proxy.seen += 1
    if proxy.fault is Fault.REFUSE:
        _reset(writer)
        return
    try:
        upstream, to_server = await _connected(*proxy.target)
    except OSError:
        _reset(writer)
        return
    connection = Connection(proxy, writer, to_server)
    proxy.connections.add(connection)
    ways = [
        asyncio.create_task(_from_client(connection, reader)),
        asyncio.create_task(_from_server(connection, upstream)),
    ]
    try:
        with suppress(OSError):
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        proxy.connections.discard(connection)
        to_server.close()


async def _connected(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if host.startswith("/"):
        return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
    return await asyncio.open_connection(host, port)


async def _from_client(connection: Connection, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(BLOCK):
        await _while_hanging(connection.proxy)
        connection.server.write(data)
        await connection.server.drain()


async def _from_server(connection: Connection, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(BLOCK):
        await _while_hanging(connection.proxy)
        if not await _passed(connection, data):
            connection.reset()
            return


async def _passed(connection: Connection, data: bytes) -> bool:
    """Send the server's bytes on as the fault has it; return whether the connection still stands."""
    proxy = connection.proxy
    match proxy.fault:
        case Fault.DROP:
            return False
        case Fault.DELAY:
            await asyncio.sleep(proxy.seconds)
        case Fault.CORRUPT:
            data = bytes(
                byte ^ 0x10 if (connection.passed + place) % proxy.amount == proxy.amount - 1 else byte
                for place, byte in enumerate(data)
            )
        case Fault.CUT if connection.passed + len(data) > proxy.amount:
            connection.client.write(data[: max(0, proxy.amount - connection.passed)])
            with suppress(OSError):
                await connection.client.drain()
            return False
        case Fault.DRIP:
            while data and proxy.fault is Fault.DRIP:
                connection.client.write(data[: proxy.amount])
                data = data[proxy.amount :]
                await asyncio.sleep(proxy.seconds)
    connection.passed += len(data)
    connection.client.write(data)
    await connection.client.drain()
    return True


async def _while_hanging(proxy: FaultProxy) -> None:
    while proxy.fault is Fault.HANG:  # noqa: ASYNC110 - a test's switch, not an event
        await asyncio.sleep(POLL_SECONDS)


def _reset(writer: asyncio.StreamWriter) -> None:
    result: socket.socket | None = writer.get_extra_info("socket")
    if result is not None and result.family is not socket.AF_UNIX:
        with suppress(OSError):
            result.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    writer.transport.abort()
