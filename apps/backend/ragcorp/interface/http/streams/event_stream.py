"""Server-sent events with JSON data; where the work fails, the last event is an error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, Generic, TypeVar

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from ragcorp.interface.http.call import Call
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.problems import problem_of
from ragcorp.interface.shapes.json_text import dumps

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

Event = tuple[str, Mapping[str, object]]

EVENT_NAMES = ("status", "search_results", "message", "citation", "final_answer", "error", "ping")
EVENT_STREAM: dict[str, Any] = {
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "description": "One event.",
                "required": ["event", "data"],
                "properties": {
                    "event": {"type": "string", "enum": list(EVENT_NAMES)},
                    "data": {"type": "string", "contentMediaType": "application/json"},
                },
            }
        }
    }
}
"""Describes a response that may be a stream. Before OpenAPI 3.2 the schema is that of one event."""

SEARCH_EVENTS = """\
With `stream: true` the answer is a stream of server-sent events; `data` is JSON.

| event | data |
|---|---|
| `status` | `{"status": "searching"}` |
| `status` | `{"status": "done", "tool", "characters", "passages", "files", "message"}`; /search has `chunks` too |
| `search_results` | what is answered without a stream; the last event of a search that is complete |
| `error` | a problem; the last event of a search that failed |
| `ping` | `{}`, while nothing else is sent |

What is refused before the search begins is an ordinary response.
"""


class EventStream(EventSourceResponse):
    """The events of one request; after ``seconds`` an ``error`` ends them. ``close`` always ends the work."""

    def __init__(
        self,
        events: AsyncGenerator[Event, None],
        *,
        close: Callable[[], Awaitable[None]],
        request_id: str,
        limits: HttpLimits,
        seconds: float,
    ) -> None:
        self._close = close
        self._request_id = request_id
        super().__init__(
            _sent(events, request_id, deadline=asyncio.get_running_loop().time() + seconds),
            ping=limits.ping_seconds,
            send_timeout=limits.write_timeout_seconds,
            ping_message_factory=lambda: ServerSentEvent(event="ping", data="{}"),
        )
        del self.headers["connection"]  # the server sets it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:  # the server closes a response without an end
            logger.warning("the client of request %s does not read its stream", self._request_id)
        finally:
            await self._close()


class BegunWork(Generic[Result]):
    """Work in progress: ``begin`` raises what it raises before its first wait."""

    def __init__(self, task: asyncio.Task[Result]) -> None:
        self._task = task

    @classmethod
    async def begin(cls, work: Coroutine[Any, Any, Result]) -> BegunWork[Result]:
        task = asyncio.create_task(work)
        try:
            await asyncio.sleep(0)  # the task runs until its first wait
            if task.done():
                task.result()
        except BaseException:
            task.cancel()
            raise
        return cls(task)

    async def arrives_within(self, seconds: float) -> bool:
        """Wait and return whether the result is there; raise what the work raised."""
        await asyncio.wait({self._task}, timeout=seconds)
        if self._task.done():
            self._task.result()
        return self._task.done()

    async def result(self, *, seconds: float) -> Result:
        """Return the result. Raises TimeoutError after ``seconds``."""
        async with asyncio.timeout(seconds):
            return await self._task

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def stream_result(
    call: Call,
    work: Coroutine[Any, Any, Result],
    render: Callable[[Result], tuple[Mapping[str, object], Mapping[str, object]]],
    *,
    seconds: float,
) -> EventStream:
    """Stream a search: that it runs, then the status and the results that ``render`` makes of its result."""
    begun = await BegunWork.begin(work)

    async def events() -> AsyncGenerator[Event, None]:
        yield "status", {"status": "searching"}
        status, results = render(await begun.result(seconds=seconds))
        yield "status", {"status": "done", **status}
        yield "search_results", results

    return EventStream(
        events(),
        close=begun.close,
        request_id=call.request_id,
        limits=call.limits,
        seconds=seconds + call.limits.write_timeout_seconds,
    )


async def _sent(
    events: AsyncGenerator[Event, None], request_id: str, *, deadline: float
) -> AsyncGenerator[ServerSentEvent, None]:
    try:
        while (event := await _next(events, deadline)) is not None:
            yield _event(*event)
    except Exception as error:  # the status is sent, so the error is an event
        problem = problem_of(error)
        if problem.code == "internal":
            logger.exception("the stream of request %s failed", request_id)
        yield _event("error", problem.as_json(request_id))


async def _next(events: AsyncGenerator[Event, None], deadline: float) -> Event | None:
    """Return the next event, None after the last. Raises TimeoutError at the deadline."""
    async with asyncio.timeout_at(deadline):
        return await anext(events, None)


def _event(name: str, data: Mapping[str, object]) -> ServerSentEvent:
    return ServerSentEvent(event=name, data=dumps(data).decode())
