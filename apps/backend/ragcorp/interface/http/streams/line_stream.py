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
from ragcorp.interface.http.layers.admission import RequestSlot, slot_of
from ragcorp.interface.http.protocol.bodies import entity_headers, require_media_type, too_large, upload_time
from ragcorp.interface.http.protocol.descriptions import content, one_of
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.ndjson import lines
from ragcorp.interface.http.protocol.problems import Problem, RequestRefusedError, problem_of
from ragcorp.interface.http.protocol.watched_body import WatchedBody
from ragcorp.interface.http.streams.response_buffer import HeldAnswers, UnreadError
from ragcorp.interface.shapes.json_text import dumps

logger = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
ACCEPTED = (NDJSON, "application/ndjson", "application/jsonl")
BATCH_BYTES = 4 * 1024 * 1024
LINES_AT_A_TIME = 32

MOST_UNREAD_BYTES = 4 * 1024 * 1024
"""So much of an answer is held for a sender that does not read yet; then no more lines are read until it does."""

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
"""Describes the response of a bulk request."""

Entry = TypeVar("Entry")


def line_body(description: str, *models: type) -> dict[str, Any]:
    """Describe the body of a bulk request: each line is JSON of one of ``models``."""
    schema = {"type": "string", "description": description}
    return {"requestBody": {"required": True, "content": {NDJSON: {"schema": schema, "itemSchema": one_of(*models)}}}}


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
    """A response that streams while its request still does: it leaves the reading of the connection to its body.

    Where that breaks off, the response has no end, and the server closes the connection.
    """

    def __init__(self, lines: AsyncGenerator[bytes, None], body: WatchedBody, *, media_type: str) -> None:
        super().__init__(lines, media_type=media_type)
        self._lines = lines
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        try:
            async with aclosing(self._lines):
                await self.stream_response(send)
        except ClientDisconnect:
            logger.info("a bulk request broke off: its sender left")
        except UnreadError:
            logger.warning("a bulk request was cut: its sender does not read what it is answered")
        finally:
            await self._body.aclose()


class LineStream:
    """Answers bulk requests."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits

    async def respond(self, request: Request, handler: LineHandler[Any]) -> Response:
        """Raises BusyError where as many streams are open as may be: what each of them holds adds up."""
        require_media_type(entity_headers(request.scope), *ACCEPTED)
        slot = slot_of(request.scope)
        slot.work_in_parts()  # the request lasts as long as its sender likes
        slot.open_stream()
        body = WatchedBody(request.receive)
        try:
            # a caller that waits for "100 Continue" gets it with the first read, which must come before the answer's
            # head
            async with upload_time(request, self._limits):
                first = await body.piece(seconds=self._limits.upload_timeout_seconds)
        except BaseException:
            await body.aclose()
            raise
        work = _LineWork(first, body, handler, slot, self._limits)
        return TwoWayStream(work.answered(), body, media_type=NDJSON)


class _LineWork(Generic[Entry]):
    """Stores one request's lines, and answers them."""

    def __init__(
        self, first: bytes | None, body: WatchedBody, handler: LineHandler[Entry], slot: RequestSlot, limits: HttpLimits
    ) -> None:
        self._first = first
        self._body = body
        self._handler = handler
        self._slot = slot
        self._limits = limits
        self._answers = HeldAnswers(most_bytes=MOST_UNREAD_BYTES, wait_seconds=limits.upload_timeout_seconds)
        self._counts: Counter[str] = Counter(created=0, updated=0, unchanged=0, failed=0)
        self._batch: _Batch[Entry] = _Batch()
        self._storing = False
        self._complete = False

    async def answered(self) -> AsyncGenerator[bytes, None]:
        """Read on while the answer waits to be taken: a caller that sends all before it reads must not lock both up.

        When the caller leaves, the batch in hand is stored, and nothing after it. Raises ClientDisconnect and
        UnreadError.
        """
        work = asyncio.create_task(self._store_all())
        watch = asyncio.create_task(self._stop_when_left(work))
        try:
            while (lines := await self._answers.take()) is not None:
                yield lines
            if self._body.left.is_set() and not self._complete:
                raise ClientDisconnect
            await work
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _stop_when_left(self, work: asyncio.Task[None]) -> None:
        await self._body.left.wait()
        if not self._storing:
            work.cancel()

    async def _store_all(self) -> None:
        try:
            number = 0
            async for line in lines(self._pieces(), limit=self._limits.max_body_bytes):
                number += 1
                if number % LINES_AT_A_TIME == 0:
                    await asyncio.sleep(0)  # nothing here waits while lines are bad, and others want to work too
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
        identity = self._handler.identity(entry)
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
        if self._body.left.is_set():
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
        except Exception as error:  # the head is out, and a later batch may fare better: each line says what happened
            problem = problem_of(error)
            if problem.code == "internal":
                logger.exception("a batch of a bulk request failed")
            return [
                _failed(line, self._handler.name_of(entry), problem)
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
