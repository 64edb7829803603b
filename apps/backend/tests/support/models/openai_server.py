"""An OpenAI-compatible server on a socket, with faults that are switched on by request."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

REASONS = {200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 413: "Too Large",
           422: "Unprocessable", 429: "Too Many Requests", 500: "Server Error", 503: "Unavailable"}  # fmt: skip

BOMB = gzip.compress(b'{"data": "' + b"x" * 20_000_000 + b'"}', 1)


@dataclass(slots=True)
class Seen:
    """A request that came in: path, headers in lower case and the decoded body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(slots=True)
class FakeOpenAI:
    """What the server does next. ``faults`` are taken one a request, first first; then it behaves.

    Embeddings: ``ok``, ``hang``, ``drip``, ``html``, ``huge``, ``cut``, ``redirect``, ``wrong_count``, ``wrong_width``,
    ``ignores_dimensions``, ``shuffled``, ``twice_the_same_index``, ``index_from_one``, ``nan``, ``infinity``,
    ``overflow``, ``zero``, ``null``, ``no_data``, ``strings``, ``base64``, ``no_list``, ``no_json``, ``no_utf8``,
    ``deep``, ``gzip_bomb``, ``endless``, ``reset``, or a status such as ``429`` or ``429:0.2`` (Retry-After). Chat: the
    same where they make sense, and ``no_finish``, ``cut``, ``broken_json``, ``error_event``, ``hang_inside``,
    ``huge_delta``, ``endless_deltas``.
    """

    faults: list[str] = field(default_factory=list)
    always: str = "ok"
    vector: Callable[[str], Sequence[float]] = lambda text: [1.0, float(len(text))]
    vectors: dict[str, Callable[[str], Sequence[float]]] = field(default_factory=dict)
    """What makes the vectors of a model in place of ``vector``, by the model's name."""
    refuses: Callable[[str], bool] = lambda text: False
    """Whether a call with this text is answered with 400."""
    pieces: list[str] = field(default_factory=lambda: ["El plazo es de 30 días ", "[1]."])
    answer: Callable[[dict[str, Any]], str] | None = None
    """Makes the content of a chat completion that is not streamed."""
    piece_delay: float = 0.0
    finish_reason: str = "stop"
    reports: bool = True
    """Whether a stream tells the tokens that it used."""
    seen: list[Seen] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client goes away before its response is whole."""
    sent: int = 0
    """Bytes of a body without end that were sent."""
    base_url: str = ""
    native_width: int = 16
    proxy: Any = None
    """The proxy before the server, where there is one."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed.set()
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        path = first.split(" ")[1]
        self.seen.append(Seen(path=path, headers=headers, body=json.loads(raw or b"{}")))
        fault = self.faults.pop(0) if self.faults else self.always
        body = self.seen[-1].body
        if fault == "hang":
            await reader.read()
            self.closed.set()
            return False
        if fault == "redirect":
            _head(writer, 302, {"Location": f"{self.base_url}/elsewhere", "Content-Length": "0"})
        elif fault[0].isdigit():
            status, _, after = fault.partition(":")
            headers = {"Retry-After": after or "0.01"}
            _json(writer, int(status), {"error": {"message": "SECRET-IN-BODY sk-123"}}, headers)
        elif fault == "html":
            _body(writer, 200, b"<html><body>Sign in</body></html>", {"Content-Type": "text/html"})
        elif fault == "huge":
            _body(writer, 200, b'{"data": "' + b"x" * 30_000_000 + b'"}')
        elif fault == "no_utf8":
            _body(writer, 200, b'{"data": "\xff\xfe"}')
        elif fault == "no_json":
            _body(writer, 200, b'{"data": [')
        elif fault == "deep":
            _body(writer, 200, b"[" * 200_000)
        elif fault == "gzip_bomb":
            _body(writer, 200, BOMB, {"Content-Encoding": "gzip"})
        elif fault == "endless":
            return await self._endless(writer)
        elif fault == "reset":
            _head(writer, 200, {"Content-Type": "application/json", "Content-Length": "1000"})
            writer.write(b'{"data": [')
            await writer.drain()
            reset(writer)
            return False
        elif path.endswith("/embeddings"):
            return await self._embeddings(reader, writer, body, fault)
        else:
            return await self._chat(reader, writer, fault) if body.get("stream") else await self._whole(writer, fault)
        await writer.drain()
        return True

    async def _endless(self, writer: asyncio.StreamWriter) -> bool:
        """A body of a gigabyte, as fast as it is taken."""
        _head(writer, 200, {"Content-Type": "application/json", "Content-Length": str(1024**3)})
        block = b"[" + b" " * 65_535
        try:
            while self.sent < 1024**3:
                writer.write(block)
                await writer.drain()
                self.sent += len(block)
        except ConnectionError:
            self.closed.set()
        return False

    async def _whole(self, writer: asyncio.StreamWriter, fault: str) -> bool:
        """A chat completion in one body: ``answer`` to the request, else all pieces."""
        body = self.seen[-1].body
        content = self.answer(body) if self.answer else "".join(self.pieces)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": content},
            "finish_reason": None if fault == "no_finish" else self.finish_reason,
        }
        whole = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": {}}
        if fault == "broken_json":
            _body(writer, 200, b"{nonsense")
        else:
            _body(writer, 200, json.dumps(whole).encode())
        await writer.drain()
        return True

    async def _embeddings(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: dict[str, Any], fault: str
    ) -> bool:
        texts: list[str] = body["input"]
        if any(map(self.refuses, texts)):
            _json(writer, 400, {"error": {"message": "SECRET-IN-BODY sk-123"}}, {})
            await writer.drain()
            return True
        vector = self.vectors.get(body["model"], self.vector)
        width = self.native_width if fault == "ignores_dimensions" else body.get("dimensions", self.native_width)
        width = width + 3 if fault == "wrong_width_wider" else width - 1 if fault == "wrong_width" else width
        data: list[Any] = [
            {"object": "embedding", "index": index, "embedding": (list(vector(text)) + [0.0] * width)[:width]}
            for index, text in enumerate(texts)
        ]
        match fault:
            case "wrong_count":
                data = data[:-1]
            case "shuffled":
                data.reverse()
            case "twice_the_same_index":
                for item in data:
                    item["index"] = 0
            case "nan":
                data[0]["embedding"][0] = float("nan")
            case "infinity":
                data[-1]["embedding"][0] = float("inf")
            case "overflow":
                data[-1]["embedding"] = [1e154] * width
            case "index_from_one":
                for item in data:
                    item["index"] += 1
            case "base64":
                data[0]["embedding"] = "AACAPwAAgD8="
            case "no_list":
                data = {"0": data[0]}  # type: ignore[assignment]
            case "zero":
                data[0]["embedding"] = [0.0] * width
            case "no_data":
                data = [{"object": "embedding"} for _ in texts]
            case "strings":
                data = ["x" for _ in texts]
            case "null":
                data[0]["embedding"] = None
        payload = json.dumps({"object": "list", "data": data, "model": body["model"], "usage": {}}).encode()
        if fault == "drip":
            _head(writer, 200, {"Content-Type": "application/json", "Content-Length": str(len(payload))})
            return await self._drip(reader, writer, payload)
        if fault == "cut":
            _head(writer, 200, {"Content-Type": "application/json", "Content-Length": str(len(payload) + 9)})
            writer.write(payload)
            await writer.drain()
            return False
        _body(writer, 200, payload)
        await writer.drain()
        return True

    async def _drip(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, payload: bytes) -> bool:
        for position in range(len(payload)):
            writer.write(payload[position : position + 1])
            await writer.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await reader.read(1)
                    self.closed.set()
                    return False
        return True

    async def _chat(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: str) -> bool:
        _head(writer, 200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        if fault == "huge_delta":
            _chunk(writer, _event({"choices": [{"index": 0, "delta": {"content": "x" * 6_000_000}}]}))
            await writer.drain()
        if fault == "endless_deltas":
            return await self._endless_deltas(writer)
        for piece in self.pieces:
            _chunk(writer, _event({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}))
            await writer.drain()
            if self.piece_delay:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.piece_delay):
                        await reader.read(1)
                        self.closed.set()
                        return False
        if fault == "hang_inside":
            await writer.drain()
            await reader.read()
            self.closed.set()
            return False
        if fault == "cut":
            await writer.drain()
            writer.transport.abort()
            return False
        if fault == "broken_json":
            _chunk(writer, b"data: {nonsense\n\n")
        if fault == "error_event":
            _chunk(writer, b'data: {"error": {"message": "SECRET-IN-BODY sk-123"}}\n\n')
        if fault != "no_finish":
            _chunk(writer, _event({"choices": [{"index": 0, "delta": {}, "finish_reason": self.finish_reason}]}))
            usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
            if self.reports:
                _chunk(writer, _event({"choices": [], "usage": usage}))
        _chunk(writer, b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _endless_deltas(self, writer: asyncio.StreamWriter) -> bool:
        event = _event({"choices": [{"index": 0, "delta": {"content": "palabra "}, "finish_reason": None}]})
        try:
            while self.sent < 1024**3:
                _chunk(writer, event)
                await writer.drain()
                self.sent += len(event)
        except ConnectionError:
            self.closed.set()
        return False


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with RST, as a machine that was switched off does."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


def _head(writer: asyncio.StreamWriter, status: int, headers: dict[str, str]) -> None:
    lines = [
        f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())


def _body(writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    _head(writer, status, {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})})
    writer.write(body)


def _json(writer: asyncio.StreamWriter, status: int, value: object, headers: dict[str, str]) -> None:
    _body(writer, status, json.dumps(value).encode(), headers)


def _event(value: dict[str, Any]) -> bytes:
    whole = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m", **value}
    return f"data: {json.dumps(whole, ensure_ascii=False)}\n\n".encode()


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


@asynccontextmanager
async def openai_server() -> AsyncIterator[FakeOpenAI]:
    """Run the server on a free port of the loopback for the block."""
    fake = FakeOpenAI()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield fake
    finally:
        server.close()
