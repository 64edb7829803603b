"""Server-sent events: named, with JSON for data, and an error as the last one where the work behind them fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, Generic, TypeVar

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.problems import problem_of
from ragcorp.interface.shapes.json_text import dumps

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

Event = tuple[str, Mapping[str, object]]
"""Name and data."""

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
"""How the description tells that a response may be a stream. Before OpenAPI 3.2 the schema is that of an event."""

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
    """The events of one request. However it ends, ``close`` is called, and ends the work behind them.

    What is not there ``seconds`` from now ends in an ``error``. A client that leaves an event unread is given up: its
    events wait in the buffers of its connection, and no work goes on for it.
    """

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
        del self.headers["connection"]  # the server's matter: it says "close" where the caller did

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:  # the server closes what has no end
            logger.warning("the client of request %s does not read its stream", self._request_id)
        finally:
            await self._close()


class BegunWork(Generic[Result]):
    """Work that has begun: what it refuses before it waits for anything is raised by ``begin``."""

    def __init__(self, task: asyncio.Task[Result]) -> None:
        self._task = task

    @classmethod
    async def begin(cls, work: Coroutine[Any, Any, Result]) -> BegunWork[Result]:
        task = asyncio.create_task(work)
        try:
            await asyncio.sleep(0)  # the task comes first, and runs until it waits
            if task.done():
                task.result()
        except BaseException:
            task.cancel()
            raise
        return cls(task)

    async def arrives_within(self, seconds: float) -> bool:
        """Wait, and say whether the result is there; raise what the work raised until then."""
        await asyncio.wait({self._task}, timeout=seconds)
        if self._task.done():
            self._task.result()
        return self._task.done()

    async def result(self, *, seconds: float) -> Result:
        """Raise TimeoutError where it is not there ``seconds`` from now."""
        async with asyncio.timeout(seconds):
            return await self._task

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def _sent(
    events: AsyncGenerator[Event, None], request_id: str, *, deadline: float
) -> AsyncGenerator[ServerSentEvent, None]:
    try:
        while (event := await _next(events, deadline)) is not None:
            yield _event(*event)
    except Exception as error:  # the status is sent: from here on an error is an event
        problem = problem_of(error)
        if problem.code == "internal":
            logger.exception("the stream of request %s failed", request_id)
        yield _event("error", problem.as_json(request_id))


async def _next(events: AsyncGenerator[Event, None], deadline: float) -> Event | None:
    """Return the next event, None after the last one. Raises TimeoutError at the deadline."""
    async with asyncio.timeout_at(deadline):
        return await anext(events, None)


def _event(name: str, data: Mapping[str, object]) -> ServerSentEvent:
    return ServerSentEvent(event=name, data=dumps(data).decode())
