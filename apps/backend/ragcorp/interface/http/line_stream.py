"""Lines in, lines out: a batch is stored while the request still streams, and each line is answered by one."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.interface.http.admission_gate import Place, place_of
from ragcorp.interface.http.bodies import entity_headers, require_media_type, too_large, upload_time
from ragcorp.interface.http.json_response import dumps
from ragcorp.interface.http.ndjson import lines
from ragcorp.interface.http.problems import Problem, RequestRefusedError, problem_of
from ragcorp.interface.http.services import HttpLimits

logger = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
ACCEPTED = (NDJSON, "application/ndjson", "application/jsonl")
BATCH_BYTES = 4 * 1024 * 1024

STALLED = Problem(
    status=408, code="request_timeout", detail="Nothing came for too long. What was answered so far is stored."
)

LINES_SCHEMA = {
    "type": "string",
    "description": "One JSON object a line.",
    "examples": ['{"line":1,"external_id":"a.md","status":"created"}\n{"summary":{"created":1,"failed":0}}\n'],
}

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOutcome:
    """What became of one line: a status, or the error that kept it out."""

    external_id: str | None
    status: str = ""
    error: RagcorpError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineHandler(Generic[Entry]):
    """``read`` makes an entry of a line or raises a RagcorpError or RequestRefusedError; ``store`` keeps a batch.

    ``name_of`` is the entry's external_id, and ``identity_of``, where it is more than that, what the entry is stored
    under. A batch ends before an identity comes again, so that what becomes of a line does not depend on where batches
    end.
    """

    read: Callable[[bytes], Entry]
    name_of: Callable[[Entry], str | None]
    store: Callable[[Sequence[Entry]], Awaitable[Sequence[LineOutcome]]]
    batch_lines: int
    identity_of: Callable[[Entry], Hashable] | None = None

    def identity(self, entry: Entry) -> Hashable:
        """Return what the entry is stored under; None where that is not known."""
        return self.name_of(entry) if self.identity_of is None else self.identity_of(entry)


@dataclass(slots=True)
class _Batch(Generic[Entry]):
    lines: list[int] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    identities: set[Hashable] = field(default_factory=set)
    size: int = 0

    def add(self, entry: Entry, identity: Hashable, *, line: int, size: int) -> None:
        self.lines.append(line)
        self.entries.append(entry)
        self.size += size
        if identity is not None:
            self.identities.add(identity)


class TwoWayStream(StreamingResponse):
    """A response that streams while its request still does: it leaves the reading of the connection to its body."""

    def __init__(self, lines: AsyncGenerator[bytes, None], *, media_type: str) -> None:
        super().__init__(lines, media_type=media_type)
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        async with aclosing(self._lines):
            await self.stream_response(send)


class LineStream:
    """Answers bulk requests."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits

    async def respond(self, request: Request, handler: LineHandler[Any]) -> Response:
        require_media_type(entity_headers(request.scope), *ACCEPTED)
        place = place_of(request.scope)
        place.work_in_parts()  # the request lasts as long as its sender likes
        chunks = self._chunks(request)
        # a caller that waits for "100 Continue" gets it with the first read, which must come before the answer's head
        async with upload_time(request, self._limits):
            first = await anext(chunks, b"")
        return TwoWayStream(self._answered(first, chunks, handler, place), media_type=NDJSON)

    async def _chunks(self, request: Request) -> AsyncIterator[bytes]:
        async with aclosing(request.stream()) as stream:
            while True:
                async with asyncio.timeout(self._limits.upload_timeout_seconds):
                    chunk = await anext(stream, None)
                if chunk is None:
                    return
                yield chunk

    async def _answered(
        self, first: bytes, chunks: AsyncIterator[bytes], handler: LineHandler[Any], place: Place
    ) -> AsyncGenerator[bytes, None]:
        """Read on while the answer waits to be taken: a caller that sends all before it reads must not lock both up."""
        answers: asyncio.Queue[bytes | None] = asyncio.Queue()
        reader = asyncio.create_task(self._store_all(first, chunks, handler, answers, place))
        try:
            while (line := await answers.get()) is not None:
                yield line
            await reader
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _store_all(
        self,
        first: bytes,
        chunks: AsyncIterator[bytes],
        handler: LineHandler[Any],
        answers: asyncio.Queue[bytes | None],
        place: Place,
    ) -> None:
        counts: Counter[str] = Counter(created=0, updated=0, unchanged=0, failed=0)

        def put(outcomes: Sequence[dict[str, Any]]) -> None:
            for outcome in outcomes:
                counts[outcome.get("status", "failed")] += 1
                answers.put_nowait(dumps(outcome) + b"\n")

        batch: _Batch[Any] = _Batch()
        try:
            number = 0
            async for line in lines(_chained(first, chunks), limit=self._limits.max_body_bytes):
                number += 1
                if line is not None and not line.strip():
                    continue
                try:
                    if line is None:
                        raise too_large(self._limits.max_body_bytes, "MAX_BODY_BYTES", field="line")
                    entry = handler.read(line)
                except (RagcorpError, RequestRefusedError) as error:
                    put([_failed(number, None, problem_of(error))])
                    continue
                identity = handler.identity(entry)
                if identity in batch.identities:
                    put(await self._store(batch, handler, place))
                    batch = _Batch()
                batch.add(entry, identity, line=number, size=len(line))
                if len(batch.entries) >= handler.batch_lines or batch.size >= BATCH_BYTES:
                    put(await self._store(batch, handler, place))
                    batch = _Batch()
            put(await self._store(batch, handler, place))
            answers.put_nowait(dumps({"summary": counts}) + b"\n")
        except TimeoutError:
            answers.put_nowait(dumps({"error": STALLED.as_line()}) + b"\n")
        except ClientDisconnect:
            logger.info("a bulk request broke off: its sender left")
        finally:
            answers.put_nowait(None)

    async def _store(self, batch: _Batch[Any], handler: LineHandler[Any], place: Place) -> list[dict[str, Any]]:
        if not batch.entries:
            return []
        try:
            seconds = self._limits.bulk_batch_timeout_seconds
            async with place.part(wait_seconds=seconds), asyncio.timeout(seconds):
                outcomes = await handler.store(batch.entries)
        except Exception as error:  # the head is out, and a later batch may fare better: each line says what happened
            problem = problem_of(error)
            if problem.code == "internal":
                logger.exception("a batch of a bulk request failed")
            return [
                _failed(line, handler.name_of(entry), problem)
                for line, entry in zip(batch.lines, batch.entries, strict=True)
            ]
        return [
            {"line": line, "external_id": outcome.external_id, "status": outcome.status}
            if outcome.error is None
            else _failed(line, outcome.external_id, problem_of(outcome.error))
            for line, outcome in zip(batch.lines, outcomes, strict=True)
        ]


def _failed(line: int, external_id: str | None, problem: Problem) -> dict[str, Any]:
    return {"line": line, "external_id": external_id, "error": problem.as_line()}


async def _chained(first: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in chunks:
        yield chunk
