"""Takes the answer out of the events that led to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ragcorp.domain.answers import Answer, AskEvent
from ragcorp.domain.exceptions import AnswererUnavailableError


async def whole_answer(events: AsyncGenerator[AskEvent, None]) -> Answer:
    """Return the answer, and close the events. Raises what they raise, and AnswererUnavailableError without one."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Answer):
                return event
    raise AnswererUnavailableError("The answer broke off.", reason="cut")
