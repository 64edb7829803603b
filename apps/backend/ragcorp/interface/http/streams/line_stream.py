"""Bulk requests: stores batches of lines while the request streams, and answers each line with one."""

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

from ragcorp.domain.documents import SaveOutcome, WriteFailure
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ingestion import IngestFailure, IngestOutcome, IngestResult
from ragcorp.interface.http.layers.admission import RequestSlot, slot_of
from ragcorp.interface.http.protocol.bodies import require_media_type, too_large, upload_time
from ragcorp.interface.http.protocol.descriptions import content, one_of
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.problems import Problem, RequestRefusedError, problem_of
from ragcorp.interface.http.protocol.streamed_body import WatchedBody, lines
from ragcorp.interface.http.streams.response_buffer import ResponseBuffer, UnreadError
from ragcorp.interface.shapes.json_text import dumps
from ragcorp.interface.shapes.unread import unread_parts

logger = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
ACCEPTED = (NDJSON, "application/ndjson", "application/jsonl")
BATCH_BYTES = 4 * 1024 * 1024
LINES_AT_A_TIME = 32

MOST_UNREAD_BYTES = 4 * 1024 * 1024
"""Response bytes buffered for a client that does not read; above that no more lines are read."""

STALLED = Problem(
    status=408, code="request_timeout", detail="Nothing came for too long. What was answered so far is stored."
)

OUTCOMES = content(
    NDJSON,
    {
        "type": "string",
        "description": "One JSON object a line.",
        "examples": ['{"line":1,"external_id":"a.md","status":"created"}\n{"summary":{"created":1,"failed":0}}\n'],
    },
    "What became of each.",
)

Entry = TypeVar("Entry")

LineOutcome = IngestOutcome | SaveOutcome


def line_body(description: str, *models: type) -> dict[str, Any]:
    """Describe the body of a bulk request: each line is JSON of one of ``models``."""
    schema = {"type": "string", "description": description}
    return {"requestBody": {"required": True, "content": {NDJSON: {"schema": schema, "itemSchema": one_of(*models)}}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class LineHandler(Generic[Entry]):
    """``read`` parses a line or raises a RagcorpError or RequestRefusedError; ``store`` saves a batch.

    ``name_of`` returns an entry's external_id, ``identity_of`` the key that it is stored under (None: unknown). A batch
    ends before a repeated identity, so that outcomes do not depend on batch boundaries.
    """

    read: Callable[[bytes], Entry]
    name_of: Callable[[Entry], str | None]
    store: Callable[[Sequence[Entry]], Awaitable[Sequence[LineOutcome]]]
    batch_lines: int
    identity_of: Callable[[Entry], Hashable]


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
    """A response that streams while its request does; if the request breaks off, the response has no end."""

    def __init__(self, lines: AsyncGenerator[bytes, None], body: WatchedBody, *, media_type: str) -> None:
        super().__init__(lines, media_type=media_type)
        self._lines = lines
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        try:
            async with aclosing(self._lines):
                await self.stream_response(send)
        except ClientDisconnect:
            logger.info("a bulk request broke off: its sender disconnected")
        except UnreadError:
            logger.warning("a bulk request was cut: its sender does not read the response")
        finally:
            await self._body.aclose()


class LineStream:
    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits

    async def respond(self, request: Request, handler: LineHandler[Any]) -> Response:
        """Raises BusyError if too many streams are open: their buffers add up."""
        require_media_type(request, *ACCEPTED)
        slot = slot_of(request.scope)
        slot.work_in_parts()  # the request lasts as long as its sender likes
        await slot.open_stream()
        body = WatchedBody(request.receive)
        try:
            # the first read sends "100 Continue" and must precede the head of the response
            async with upload_time(request, self._limits):
                first = await body.piece(seconds=self._limits.upload_timeout_seconds)
        except BaseException:
            await body.aclose()
            raise
        work = _LineWork(first, body, handler, slot, self._limits)
        return TwoWayStream(work.answered(), body, media_type=NDJSON)


class _LineWork(Generic[Entry]):
    def __init__(
        self, first: bytes | None, body: WatchedBody, handler: LineHandler[Entry], slot: RequestSlot, limits: HttpLimits
    ) -> None:
        self._first = first
        self._body = body
        self._handler = handler
        self._slot = slot
        self._limits = limits
        self._answers = ResponseBuffer(most_bytes=MOST_UNREAD_BYTES, wait_seconds=limits.upload_timeout_seconds)
        self._counts: Counter[str] = Counter(created=0, updated=0, unchanged=0, failed=0)
        self._batch: _Batch[Entry] = _Batch()
        self._storing = False
        self._complete = False

    async def answered(self) -> AsyncGenerator[bytes, None]:
        """Yield the response while reading on: a client may send everything before it reads.

        When the client leaves, the current batch is still stored. Raises ClientDisconnect and UnreadError.
        """
        work = asyncio.create_task(self._store_all())
        watch = asyncio.create_task(self._stop_when_disconnected(work))
        try:
            while (lines := await self._answers.take()) is not None:
                yield lines
            if self._body.disconnected.is_set() and not self._complete:
                raise ClientDisconnect
            await work
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _stop_when_disconnected(self, work: asyncio.Task[None]) -> None:
        await self._body.disconnected.wait()
        if not self._storing:
            work.cancel()

    async def _store_all(self) -> None:
        try:
            number = 0
            async for line in lines(self._pieces(), limit=self._limits.max_body_bytes):
                number += 1
                if number % LINES_AT_A_TIME == 0:
                    await asyncio.sleep(0)  # bad lines wait for nothing: let other tasks run
                if line is None or line.strip():
                    await self._take(number, line)
            await self._store()
            await self._answers.put(dumps({"summary": self._counts}) + b"\n")
            self._complete = True
        except TimeoutError:
            await self._answers.put(dumps({"error": STALLED.as_line()}) + b"\n")
        finally:
            self._answers.end()

    async def _pieces(self) -> AsyncIterator[bytes]:
        piece = self._first
        while piece is not None:
            yield piece
            piece = await self._body.piece(seconds=self._limits.upload_timeout_seconds)

    async def _take(self, number: int, line: bytes | None) -> None:
        try:
            if line is None:
                raise too_large(self._limits.max_body_bytes, "MAX_BODY_BYTES", field="line")
            entry = self._handler.read(line)
        except (RagcorpError, RequestRefusedError) as error:
            await self._put([_failed(number, None, problem_of(error))])
            return
        identity = self._handler.identity_of(entry)
        if identity in self._batch.identities:
            await self._store()
        self._batch.add(entry, identity, line=number, size=0 if line is None else len(line))
        if len(self._batch.entries) >= self._handler.batch_lines or self._batch.size >= BATCH_BYTES:
            await self._store()

    async def _put(self, outcomes: Sequence[dict[str, Any]]) -> None:
        for outcome in outcomes:
            self._counts[outcome.get("status", "failed")] += 1
            await self._answers.put(dumps(outcome) + b"\n")

    async def _store(self) -> None:
        batch, self._batch = self._batch, _Batch()
        if batch.entries:
            await self._put(await self._outcomes(batch))
        if self._body.disconnected.is_set():
            raise ClientDisconnect

    async def _outcomes(self, batch: _Batch[Entry]) -> list[dict[str, Any]]:
        seconds = self._limits.bulk_batch_timeout_seconds
        try:
            async with self._slot.part(wait_seconds=seconds):
                self._storing = True
                try:
                    async with asyncio.timeout(seconds):
                        outcomes = await self._handler.store(batch.entries)
                finally:
                    self._storing = False
        except Exception as error:  # the status is sent, and later batches may succeed: each line gets the error
            problem = problem_of(error)
            if problem.code == "internal":
                logger.exception("a batch of a bulk request failed")
            return [
                _failed(line, self._handler.name_of(entry), problem)
                for line, entry in zip(batch.lines, batch.entries, strict=True)
            ]
        return [
            self._answer(line, entry, outcome)
            for line, entry, outcome in zip(batch.lines, batch.entries, outcomes, strict=True)
        ]

    def _answer(self, line: int, entry: Entry, outcome: LineOutcome) -> dict[str, Any]:
        if isinstance(outcome, IngestFailure | WriteFailure):
            name = outcome.external_id or self._handler.name_of(entry)
            return _failed(line, name, problem_of(outcome.error))
        done = {"line": line, "external_id": outcome.external_id, "status": outcome.status}
        return done | {"unread": unread_parts(outcome.unread)} if isinstance(outcome, IngestResult) else done


def _failed(line: int, external_id: str | None, problem: Problem) -> dict[str, Any]:
    return {"line": line, "external_id": external_id, "error": problem.as_line()}
