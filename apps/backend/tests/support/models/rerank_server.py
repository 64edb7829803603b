"""A reranking server on a socket that answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ragcorp.infrastructure.reranking.http_reranker import MAX_RESPONSE_BYTES

Answer = Callable[[dict[str, Any]], Any]


def by_length(body: dict[str, Any]) -> dict[str, Any]:
    """Score each passage by its length, best first, as servers answer."""
    scored = [
        {"index": index, "relevance_score": float(len(passage))} for index, passage in enumerate(body["documents"])
    ]
    return {"id": "x", "results": sorted(scored, key=lambda item: -float(item["relevance_score"]))}


@dataclass(slots=True)
class FakeReranker:
    """``answer`` makes the body of a 200 out of the request's; bytes are sent as they are.

    ``fault`` comes first: ``hang``, ``drip``, ``cut``, ``huge``, ``redirect``, or a status.
    """

    answer: Answer = by_length
    fault: str | int | None = None
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client goes away before its response is whole."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed.set()
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")[1:]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.headers.append(headers)
        self.bodies.append(body)
        if self.fault == "hang":
            await reader.read()
            self.closed.set()
            return False
        if self.fault == "redirect":
            writer.write(b"HTTP/1.1 307 Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
            return True
        if isinstance(self.fault, int):
            answer = b'{"message": "SECRET-IN-BODY"}'
            writer.write(f"HTTP/1.1 {self.fault} Status\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer)
            return True
        made = self.answer(body)
        if self.fault == "huge":
            made |= {"padding": "x" * MAX_RESPONSE_BYTES}
        content = made if isinstance(made, bytes) else json.dumps(made).encode()
        length = len(content) + (9 if self.fault == "cut" else 0)
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode())
        if self.fault == "drip":
            return await self._drip(reader, writer, content)
        writer.write(content)
        return self.fault != "cut"

    async def _drip(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, content: bytes) -> bool:
        for position in range(len(content)):
            writer.write(content[position : position + 1])
            await writer.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await reader.read(1)
                    self.closed.set()
                    return False
        return True


@asynccontextmanager
async def rerank_server() -> AsyncIterator[FakeReranker]:
    """Run the server on a free port of the loopback for the block."""
    fake = FakeReranker()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/rerank"
    try:
        yield fake
    finally:
        server.close()
