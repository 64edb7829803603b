"""An OTLP collector on a socket, which keeps the spans that it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """An OTLP collector on a socket."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.raw = b""
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                body = await reader.readexactly(int(fields[b"content-length"]))
                self.raw += body
                request = ExportTraceServiceRequest.FromString(body)
                for resource in request.resource_spans:
                    self.services |= {
                        item.value.string_value for item in resource.resource.attributes if item.key == "service.name"
                    }
                    for scope in resource.scope_spans:
                        self.spans += scope.spans
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def otlp_collector() -> AsyncIterator[Collector]:
    collector = Collector()
    server = await asyncio.start_server(collector.serve, "127.0.0.1", 0)
    collector.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield collector
    finally:
        server.close()
